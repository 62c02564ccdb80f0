// SPDX-License-Identifier: Apache-2.0
//
// Builds payloads, and defines the kernels that the tests run.
#pragma once

#include "tests/support/words.hpp"

#include <gantry/tensor.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::opencl::test {

constexpr gantry_dtype handle{3, 64, 1};
constexpr gantry_dtype int32{0, 32, 1};
constexpr gantry_dtype int64{0, 64, 1};
constexpr gantry_dtype uint32{1, 32, 1};
constexpr gantry_dtype float32{2, 32, 1};
constexpr gantry_dtype float64{2, 64, 1};

struct KernelRecord {
  std::string name;
  std::vector<gantry_dtype> parameters;
  std::vector<std::string> tags = {"blockIdx.x", "threadIdx.x"};
};

// newest   [in]   true: with argument tags, as v0.21 and later write them
inline void add_table(gantry::test::Words& words, const std::vector<KernelRecord>& kernels,
                      bool newest = false) {
  words.u64(kernels.size());
  for (const KernelRecord& kernel : kernels) {
    words.str(kernel.name).str(newest ? kernel.name : "").u64(kernel.parameters.size());
    for (const gantry_dtype& type : kernel.parameters)
      words.u8(type.code).u8(type.bits).u16(type.lanes);
    words.u64(kernel.tags.size());
    for (const std::string& tag : kernel.tags) words.str(tag);
    if (!newest) continue;
    words.u64(kernel.parameters.size());
    for (std::size_t i = 0; i < kernel.parameters.size(); ++i) words.i32(0);
  }
}

inline std::vector<std::uint8_t> bytes_of(const gantry::test::Words& words) {
  return {words.bytes().begin(), words.bytes().end()};
}

inline std::vector<std::uint8_t> payload_bytes(std::string_view format,
                                               const std::vector<KernelRecord>& kernels,
                                               std::string_view code, bool newest = false) {
  gantry::test::Words words;
  words.str(format);
  add_table(words, kernels, newest);
  words.str(code);
  return bytes_of(words);
}

struct ShaderRecord {
  std::string name;
  std::vector<std::uint32_t> words;
  std::uint32_t flag = 0;
};

inline std::vector<std::uint8_t> spirv_bytes(const std::vector<KernelRecord>& kernels,
                                             const std::vector<ShaderRecord>& shaders) {
  gantry::test::Words words;
  add_table(words, kernels);
  words.u64(shaders.size());
  for (const ShaderRecord& shader : shaders) {
    words.str(shader.name).u32(shader.flag).u64(shader.words.size());
    for (const std::uint32_t word : shader.words) words.u32(word);
  }
  return bytes_of(words);
}

// y[i] = a * x[i] + y[i]
inline const KernelRecord axpy{"axpy", {handle, handle, float32, int32}};
constexpr std::string_view axpy_body =
    "__kernel void axpy(__global const float* x, __global float* y, float a, int n) {\n"
    "  size_t i = get_global_id(0);\n"
    "  if (i < n) y[i] = a * x[i] + y[i];\n"
    "}\n";

// out[i] = value
inline const KernelRecord fill{"fill", {handle, float32}};
constexpr std::string_view fill_body =
    "__kernel void fill(__global float* out, float value) { out[get_global_id(0)] = value; }\n";

// Returns a kernel's program with its marker line, the form of v0.8 and later.
inline std::string marked(std::string_view name, std::string_view body) {
  return "// Function: " + std::string(name) + "\n" + std::string(body);
}
inline std::vector<std::uint8_t> both_kernels() {
  return payload_bytes("cl", {axpy, fill}, marked("axpy", axpy_body) + marked("fill", fill_body));
}

}  // namespace gantry::opencl::test
