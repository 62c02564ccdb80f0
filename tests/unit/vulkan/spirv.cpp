// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/vulkan/spirv.hpp"

#include "tests/support/files.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace gantry::vulkan::test {

using gantry::test::Words;

Spirv& Spirv::op(std::uint32_t opcode, std::initializer_list<std::uint32_t> operands) {
  words_.push_back(static_cast<std::uint32_t>(operands.size() + 1) << 16 | opcode);
  words_.insert(words_.end(), operands);
  return *this;
}

Spirv& Spirv::op(std::uint32_t opcode, std::initializer_list<std::uint32_t> operands,
                 std::string_view text) {
  std::vector<std::uint32_t> packed(text.size() / 4 + 1);
  std::memcpy(packed.data(), text.data(), text.size());
  words_.push_back(static_cast<std::uint32_t>(operands.size() + packed.size() + 1) << 16 | opcode);
  words_.insert(words_.end(), operands);
  words_.insert(words_.end(), packed.begin(), packed.end());
  return *this;
}

Spirv& Spirv::head(std::string_view entry) {
  return op(17, {1}).op(14, {0, 1}).op(15, {5, 1}, entry).op(16, {1, 17, 64, 1, 1});
}

Spirv& Spirv::buffer(std::uint32_t id, std::uint32_t binding) {
  return op(71, {id, 34, 0})
      .op(71, {id, 33, binding})
      .op(71, {20, 3})
      .op(30, {20, 10})
      .op(32, {21, 2, 20})
      .op(59, {21, id, 2});
}

Spirv& Spirv::scalars(std::initializer_list<std::uint32_t> offsets, bool uniform,
                      std::uint32_t binding) {
  const std::uint32_t storage = uniform ? 2 : 9;
  std::uint32_t member = 0;
  for (const std::uint32_t offset : offsets) op(72, {31, member++, 35, offset});
  op(71, {31, 2});
  if (uniform) op(71, {30, 34, 0}).op(71, {30, 33, binding});
  words_.push_back(static_cast<std::uint32_t>(offsets.size() + 2) << 16 | 30);
  words_.push_back(31);
  words_.insert(words_.end(), offsets.size(), 11);
  return op(32, {32, storage, 31}).op(59, {32, 30, storage});
}

Spirv add_shader() {
  Spirv shader;
  shader.head("add").buffer(40, 0).buffer(41, 1).scalars({0, 8}, false).end();
  return shader;
}

KernelSpec add_kernel() {
  return {"add",
          {handle_type, handle_type, int32_type, float32_type},
          {"blockIdx.x", "threadIdx.x"},
          add_shader().words()};
}

std::vector<std::uint8_t> payload_bytes(const std::vector<KernelSpec>& kernels, Form form) {
  Words out;
  out.str("vulkan").u64(kernels.size());
  for (const KernelSpec& kernel : kernels) {
    out.str(kernel.name).str(form == Form::sized ? kernel.name : "").u64(kernel.parameters.size());
    for (const gantry_dtype& type : kernel.parameters) out.u8(type.code).u8(type.bits).u16(1);
    out.strs(kernel.tags);
    if (form != Form::bare) {
      out.u64(kernel.parameters.size());
      for (std::size_t i = 0; i < kernel.parameters.size(); ++i) out.i32(0);
    }
  }
  out.u64(kernels.size());
  for (const KernelSpec& kernel : kernels) {
    out.str(kernel.name);
    if (form == Form::sized) out.u64(12 + 4 * kernel.words.size());
    out.u32(kernel.flags).u64(kernel.words.size());
    for (const std::uint32_t word : kernel.words) out.u32(word);
  }
  const auto bytes = out.bytes();
  return {bytes.begin(), bytes.end()};
}

KernelInfo info_of(const KernelSpec& kernel) {
  KernelInfo info;
  info.name = kernel.name;
  info.parameters = kernel.parameters;
  info.launch_tags.assign(kernel.tags.begin(), kernel.tags.end());
  return info;
}

Shader shader_of(const KernelSpec& kernel) {
  return {kernel.name,
          kernel.flags,
          {reinterpret_cast<const std::uint8_t*>(kernel.words.data()), 4 * kernel.words.size()},
          1000};
}

std::vector<std::uint8_t> golden_payload(std::string_view file) {
  const std::vector<std::uint8_t> bytes = gantry::test::read_file(gantry::test::golden(file));
  // The type key and the format are both this text; the format is the second occurrence.
  const Words text = Words().str("vulkan");
  const auto format =
      std::find_end(bytes.begin(), bytes.end(), text.bytes().begin(), text.bytes().end());
  if (format == bytes.end()) std::abort();
  return {format, bytes.end()};
}

}  // namespace gantry::vulkan::test
