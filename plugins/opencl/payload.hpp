// SPDX-License-Identifier: Apache-2.0
//
// The payload of the type key "opencl": kernels and their code. Parsing it needs no driver.
//
//     str format  kernel table  str data      all releases; `format` describes `data`
//     kernel table  u64 n  n times {str name, u32 flag, vec<u32> words}     SPIR-V, v0.13 to v0.23
//
// The data of our clbin payloads, which no release of TVM loads, state the device of the binary:
//
//     "gantry.clbin/1\n"  str device  the binary
//
// A text of v0.8 and later has a line "// Function: <kernel>" before each kernel's program; older
// text is one program.
#pragma once

#include <gantry/blob.hpp>
#include <gantry/kernel_args.hpp>
#include <gantry/sink.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace gantry::opencl {

// The beginning of a binary whose device is stated.
constexpr std::string_view clbin_mark = "gantry.clbin/1\n";

enum class CodeForm { source, binary, spirv };

// A unit of compilation.
struct Program {
  CodeForm form = CodeForm::source;
  // Text, or the bytes of a binary or of SPIR-V words.
  std::string_view code;
  // The device of a binary: "name, version, driver 3.1"; empty: not stated.
  std::string_view made_for = {};
};

struct Shader {
  std::string_view name;
  // Has no meaning; kept for writing.
  std::uint32_t flag = 0;
  // SPIR-V.
  std::span<const std::uint8_t> words;
};

// Views into `kept`.
struct Payload {
  // nullopt: the SPIR-V layout, which has no format.
  std::optional<std::string_view> format;
  KernelTable table;
  // After the table: the data, or the shaders of the SPIR-V layout, in the order of the payload.
  std::string_view data;
  std::vector<Shader> shaders;
  // Parallel to table.kernels().
  std::vector<KernelCall> calls;
  // Index in `programs`, parallel to table.kernels().
  std::vector<std::size_t> program_of;
  std::vector<Program> programs;
  PayloadBytes kept;
};

// Parses a payload.
//
// returns  MALFORMED    the bytes break the layout, or a kernel has no code
//          UNSUPPORTED  an unknown format, parameter kind or launch tag
// costs    O(bytes); copies names only
// source   apache/tvm src/runtime/opencl/opencl_module.cc, opencl_module_spirv.cc;
//          src/runtime/source_utils.cc
Result<Payload> read_payload(Blob& blob);

// Writes a payload from its parts: the bytes that were read.
//
// returns  the sink's error
// throws   ErrorThrown if the sink fails, as SinkStream does: call it inside abi_boundary()
Status write_payload(const Payload& payload, const Sink& sink);

}  // namespace gantry::opencl
