// SPDX-License-Identifier: Apache-2.0
//
// What a SPIR-V shader says about itself: how it is entered, what it binds, where its scalars lie.
//
//   u32  magic 0x07230203 ; version ; generator ; id bound ; 0
//   then instructions: u32 (words << 16 | opcode), operands
//
// Read once, from hostile bytes, so that nothing reaches a driver whose frame is broken. What the instructions compute
// is not judged here: like the host code beside it in the artifact, a kernel is trusted to be what its maker meant.
#pragma once

#include <gantry/result.hpp>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::vulkan {

constexpr std::uint32_t spirv_magic = 0x07230203;

// Words of a shader, little-endian, at any address.
using ShaderBytes = std::span<const std::uint8_t>;

// Where the shader looks for its scalars, in the order of the kernel's parameters.
enum class ScalarLocation : std::uint8_t { none, push_constants, uniform_buffer };

struct ShaderFacts {
  // 0x00010300 is 1.3
  std::uint32_t version = 0;
  std::string entry_point;
  // 0, 0, 0 where it is no literal
  std::array<std::uint32_t, 3> local_size{};
  // of descriptor set 0, rising
  std::vector<std::uint32_t> storage_bindings;
  // SPIR-V's numbers, in the shader's order
  std::vector<std::uint32_t> capabilities;
  ScalarLocation scalar_location = ScalarLocation::none;
  // of the uniform buffer
  std::uint32_t scalar_binding = 0;
  // bytes; 8 apart since v0.8, 4 before
  std::vector<std::uint32_t> scalar_offsets;
};

// Reads one shader.
//
// bytes    [in]   a multiple of four of them
// at       [in]   their offset in the payload
// kernel   [in]   its name: picks the entry point where there are several, and stands in messages
// returns  MALFORMED    SHADER  at the wrong word
//          UNSUPPORTED  SHADER  another descriptor set than 0, two blocks of scalars, a binding that is no buffer
// costs    O(words) time; memory for names, decorations and types only
// source   SPIR-V specification 1.6, 2.3; apache/tvm src/target/spirv/ir_builder.cc for what compilers write
Result<ShaderFacts> read_shader(ShaderBytes bytes, std::uint64_t at, std::string_view kernel);

// "1.3" for 0x00010300.
std::string spirv_version_text(std::uint32_t version);

}  // namespace gantry::vulkan
