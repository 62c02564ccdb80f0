// SPDX-License-Identifier: Apache-2.0
//
// Reads the interface of a SPIR-V shader: entry point, bindings, and the layout of its scalars.
//
//   u32  magic 0x07230203 ; version ; generator ; id bound ; 0
//   then instructions: u32 (words << 16 | opcode), operands
//
// Plugins read the shaders of payloads with it, and core/writing those that it writes. The input is untrusted: a shader with a broken header, instruction length or declaration never
// reaches a driver. The computation itself is not validated; it is trusted like the CPU code in
// the same artifact.
#pragma once

#include <gantry/result.hpp>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

constexpr std::uint32_t spirv_magic = 0x07230203;

// Words of a shader, little-endian, not aligned.
using ShaderBytes = std::span<const std::uint8_t>;

// Where the shader reads its scalars.
enum class ScalarLocation : std::uint8_t { none, push_constants, uniform_buffer };

struct ShaderFacts {
  // 0x00010300 is version 1.3.
  std::uint32_t version = 0;
  std::string entry_point;
  // {0, 0, 0}: the size is not a literal.
  std::array<std::uint32_t, 3> local_size{};
  // Bindings in descriptor set 0, ascending.
  std::vector<std::uint32_t> storage_bindings;
  // SPIR-V capability numbers, in the shader's order.
  std::vector<std::uint32_t> capabilities;
  ScalarLocation scalar_location = ScalarLocation::none;
  // Binding of the uniform buffer.
  std::uint32_t scalar_binding = 0;
  // Byte offsets in the order of the kernel's parameters; 8 apart in v0.8 and later, 4 apart
  // before.
  std::vector<std::uint32_t> scalar_offsets;
};

// Reads a shader.
//
// bytes    [in]   size is a multiple of 4
// at       [in]   offset of the bytes in the payload
// kernel   [in]   name of the kernel: selects one of several entry points, and appears in messages
// returns  MALFORMED    at the first wrong word (SHADER)
//          UNSUPPORTED  a descriptor set other than 0, two blocks of scalars, or a binding that is
//                       not a buffer (SHADER)
// costs    O(words) time; memory for names, decorations and types
// source   SPIR-V specification 1.6, section 2.3; apache/tvm src/target/spirv/ir_builder.cc
//          (writer)
Result<ShaderFacts> read_shader(ShaderBytes bytes, std::uint64_t at, std::string_view kernel);

// What a kernel's record in a payload or a recipe requires of its shader.
struct ShaderInterface {
  // for messages
  std::string_view kernel;
  // offset of the shader in the payload
  std::uint64_t at = 0;
  std::uint32_t buffer_count = 0;
  // bytes of each scalar: 4 or 8
  std::vector<std::uint32_t> scalar_sizes;
  // scalars are in a uniform buffer, not in push constants
  bool uniform = false;
};

// Checks that a shader has the bindings and scalars of its kernel.
//
// returns  the size of the block of scalars; MALFORMED: they differ (SHADER)
Result<std::uint32_t> match_shader(const ShaderFacts& facts, const ShaderInterface& kernel);

// Returns "1.3" for 0x00010300.
std::string spirv_version_text(std::uint32_t version);

}  // namespace gantry
