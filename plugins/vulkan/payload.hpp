// SPDX-License-Identifier: Apache-2.0
//
// The payload of the type key "vulkan". Parsing it needs no driver.
//
//   str  format            "vulkan"
//   kernel table           kernel_table.hpp
//   u64  shader count, then for each
//     str  kernel name
//     u64  bytes of the rest    12 + 4 * words; only v0.24 and later
//     u32  flags                bit 0: scalars are in a uniform buffer instead of push constants
//     u64  words ; u32 word[]   SPIR-V
//
// The offset of the SPIR-V magic after the name determines whether the length is present: 20 bytes
// with it, 12 without.
#pragma once

#include "core/formats/spirv_shader.hpp"

#include <gantry/blob.hpp>
#include <gantry/kernel_args.hpp>
#include <gantry/sink.hpp>

#include <map>

namespace gantry::vulkan {

struct Shader {
  // Views into the payload.
  std::string_view kernel;
  std::uint32_t flags = 0;
  ShaderBytes words;
  // Offset in the payload.
  std::uint64_t words_at = 0;
  // True: the file has the length of the rest before the flags.
  bool is_sized = false;
};

// A kernel that can be launched: its record matches its shader.
struct Kernel {
  KernelCall call;
  ShaderFacts shader;
  ShaderBytes words;
  std::uint32_t buffer_count = 0;
  // Size of the scalar block: push constants or uniform buffer.
  std::uint32_t scalar_bytes = 0;

  Kernel(KernelCall call_in, ShaderFacts shader_in, ShaderBytes words_in)
      : call(std::move(call_in)), shader(std::move(shader_in)), words(words_in) {}
};

struct Payload {
  KernelTable table;
  // In the order of the payload.
  std::vector<Shader> shaders;
  // Index in shaders.
  std::map<std::string_view, std::size_t> by_kernel;
  PayloadBytes kept;

  // NULL: the kernel has no shader.
  const Shader* shader_of(std::string_view kernel) const;
};

// Parses the payload without the shaders' instructions, which make_kernel() reads.
//
// returns  MALFORMED    at the first wrong field
//          UNSUPPORTED  a format other than "vulkan" (BLOB_FORMAT), unknown flags (SHADER_FLAG)
// costs    O(kernels + shaders); of the words only the first is read
// source   apache/tvm src/runtime/vulkan/vulkan_module.cc, src/runtime/spirv/spirv_shader.h
Result<Payload> read_payload(Blob& blob);

// Writes a payload from its parts: the bytes that were read.
//
// returns  the sink's error
// throws   ErrorThrown if the sink fails, as SinkStream does: call it inside abi_boundary()
Status write_payload(const Payload& payload, const Sink& sink);

// Combines a kernel's record with its shader and checks that they match.
//
// returns  MALFORMED    the shader, see read_shader(); its bindings or scalars differ from the
//                       record (SHADER)
//          UNSUPPORTED  see KernelCall::parse() and needs_grid_and_block_only()
Result<Kernel> make_kernel(const KernelInfo& info, const Shader& shader);

}  // namespace gantry::vulkan
