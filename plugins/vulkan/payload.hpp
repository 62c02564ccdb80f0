// SPDX-License-Identifier: Apache-2.0
//
// The payload of a vulkan module. No driver is needed to read it.
//
//   str  format            "vulkan"
//   kernel table           kernel_table.hpp
//   u64  shader count, then for each
//     str  kernel name
//     u64  bytes of the rest    12 + 4 * words.  Only since v0.24
//     u32  flags                bit 0: scalars come in a uniform buffer instead of push constants
//     u64  words ; u32 word[]   SPIR-V
//
// The place of the SPIR-V magic shows whether a shader has its length in front: 12 bytes behind the
// name, or 20.
#pragma once

#include "shader.hpp"

#include <gantry/blob.hpp>
#include <gantry/kernel_args.hpp>

#include <map>

namespace gantry::vulkan {

struct Shader {
  // Views into the payload.
  std::string_view kernel;
  std::uint32_t flags = 0;
  ShaderBytes words;
  // Offset in the payload.
  std::uint64_t words_at = 0;
};

// A kernel that can be launched: its record and its shader agree.
struct Kernel {
  KernelCall call;
  ShaderFacts shader;
  ShaderBytes words;
  std::uint32_t buffer_count = 0;
  // Of the block: push constants or uniform buffer.
  std::uint32_t scalar_bytes = 0;

  Kernel(KernelCall call_in, ShaderFacts shader_in, ShaderBytes words_in)
      : call(std::move(call_in)), shader(std::move(shader_in)), words(words_in) {}
};

struct Payload {
  KernelTable table;
  // In the order of the file.
  std::vector<Shader> shaders;
  // Index in shaders.
  std::map<std::string_view, std::size_t> by_kernel;
  PayloadBytes kept;

  // NULL where there is none.
  const Shader* shader_of(std::string_view kernel) const;
};

// Reads every field, and the header of every shader; make_kernel() reads the shaders.
//
// returns  MALFORMED    at the first wrong field
//          UNSUPPORTED  another format than "vulkan" (FORMAT), flags that are not known (SHADER_FLAG)
// costs    O(kernels + shaders); of the words only the first is read
// source   apache/tvm src/runtime/vulkan/vulkan_module.cc, src/runtime/spirv/spirv_shader.h
Result<Payload> read_payload(Blob& blob);

// Combines a kernel's record and its shader, and compares them.
//
// returns  MALFORMED    the shader: see read_shader(); it binds what the kernel does not have, or has
//                       other scalars
//          UNSUPPORTED  see KernelCall::parse() and needs_grid_and_block_only()
Result<Kernel> make_kernel(const KernelInfo& info, const Shader& shader);

}  // namespace gantry::vulkan
