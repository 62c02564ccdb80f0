// SPDX-License-Identifier: Apache-2.0
//
// The payload of the type key "opencl": kernels, and what they are built from. No driver is asked.
//
//     str format  kernel table  str data                       all releases; format says what data are
//     kernel table  u64 n  n times {str name, u32 flag, vec<u32> words}     SPIR-V, v0.13 to v0.23
//
// A text of v0.8 and later has a line "// Function: <kernel>" before each kernel's program; older text is one program.
#pragma once

#include <gantry/byte_reader.hpp>
#include <gantry/kernel_args.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

struct gantry_sink;

namespace gantry::opencl {

enum class CodeForm { source, binary, spirv };

// What is built at once.
struct Program {
  CodeForm form = CodeForm::source;
  // text, or the bytes of a binary or of SPIR-V words
  std::string_view code;
};

struct Shader {
  std::string_view name;
  // never used; kept for writing
  std::uint32_t flag = 0;
  std::string_view words;
};

// Views into the bytes that were read.
struct Payload {
  // nullopt: the SPIR-V layout
  std::optional<std::string_view> format;
  KernelTable table;
  // as table.kernels()
  std::vector<KernelCall> calls;
  // likewise: index in programs
  std::vector<std::size_t> program_of;
  std::vector<Program> programs;
  // of the common layout
  std::string_view data;
  // of the SPIR-V layout
  std::vector<Shader> shaders;

  // The index of a kernel; nullopt: there is none of that name.
  std::optional<std::size_t> find(std::string_view name) const;
};

// bytes      [in]   the payload; with `exact` nothing follows it
// tags       [in]   argument_tags_of() the blob
// consumed   [out]  bytes that were read
// returns    MALFORMED    the bytes break the layout; a kernel without code
//            UNSUPPORTED  a format, a parameter or a way of launching that this plugin does not know
// costs      O(bytes); copies names only
// source     apache/tvm src/runtime/opencl/opencl_module.cc, opencl_module_spirv.cc; src/runtime/source_utils.cc
Result<Payload> read_payload(std::span<const std::uint8_t> bytes, ArgumentTags tags, bool exact,
                             std::uint64_t& consumed);

// Writes the bytes that were read.
void write_payload(const Payload& payload, const gantry_sink& sink);

}  // namespace gantry::opencl
