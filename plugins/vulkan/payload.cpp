// SPDX-License-Identifier: Apache-2.0
#include "payload.hpp"

#include <gantry/byte_reader.hpp>
#include <gantry/dmlc_stream.hpp>
#include <gantry/quoted.hpp>

#include <cstring>

namespace gantry::vulkan {
namespace {

constexpr std::uint32_t scalars_in_uniform_buffer = 1;
constexpr std::string_view payload_format = "vulkan";
// Flags and word count, before the words.
constexpr std::uint64_t shader_head_bytes = 12;

template <class Number>
Number number_at(std::span<const std::uint8_t> bytes, std::size_t at) {
  Number number{};
  if (at + sizeof number <= bytes.size()) std::memcpy(&number, bytes.data() + at, sizeof number);
  return number;
}

// True for the magic in either byte order, so that read_shader() can report a big-endian shader.
bool is_magic(std::uint32_t word) {
  return word == spirv_magic || word == __builtin_bswap32(spirv_magic);
}

Result<Shader> read_shader_record(ByteReader& in) {
  Shader shader;
  GANTRY_TRY(shader.kernel, in.read_string("shader name"));
  const auto refuse = [&](std::uint64_t at, const auto&... why) {
    return malformed(at, "shader of kernel ", quoted(shader.kernel), ": ", why...)
        .with_reason("SHADER");
  };
  const std::uint64_t record_at = in.offset();
  const auto ahead = in.peek(24);
  shader.is_sized = is_magic(number_at<std::uint32_t>(ahead, 20)) &&
                    number_at<std::uint64_t>(ahead, 0) ==
                        shader_head_bytes + 4 * number_at<std::uint64_t>(ahead, 12);
  if (!shader.is_sized && !is_magic(number_at<std::uint32_t>(ahead, 12))) {
    return refuse(record_at, "no SPIR-V magic 12 or 20 bytes after the name");
  }
  if (shader.is_sized) GANTRY_CHECK(in.read_count(1, "shader bytes"));
  const std::uint64_t flags_at = in.offset();
  GANTRY_TRY(shader.flags, in.read_u32("shader flags"));
  if ((shader.flags & ~scalars_in_uniform_buffer) != 0) {
    return unsupported("shader of kernel ", quoted(shader.kernel), ": flags are ",
                       Hex{shader.flags}, " at ", Hex{flags_at}, ", known is bit 0")
        .with_reason("SHADER_FLAG");
  }
  GANTRY_TRY(const std::uint64_t count, in.read_count(4, "shader words"));
  shader.words_at = in.offset();
  GANTRY_TRY(shader.words, in.read_bytes(4 * count, "shader words"));
  return shader;
}

Result<std::vector<Shader>> read_shaders(ByteReader& in) {
  GANTRY_TRY(const std::uint64_t count, in.read_count(8 + 12, "shaders"));
  std::vector<Shader> shaders;
  for (std::uint64_t i = 0; i < count; ++i) {
    GANTRY_TRY(Shader shader, read_shader_record(in));
    shaders.push_back(shader);
  }
  return shaders;
}

// Checks that every kernel has exactly one shader.
Status index_shaders(Payload& payload, std::uint64_t shaders_at) {
  for (std::size_t i = 0; i < payload.shaders.size(); ++i) {
    const std::string_view kernel = payload.shaders[i].kernel;
    if (payload.by_kernel.emplace(kernel, i).second) continue;
    return malformed(shaders_at, "shader of kernel ", quoted(kernel), " appears twice")
        .with_reason("SHADER");
  }
  for (const KernelInfo& kernel : payload.table.kernels()) {
    if (payload.by_kernel.contains(kernel.name)) continue;
    return malformed(shaders_at, "kernel ", quoted(kernel.name), " has no shader")
        .with_reason("SHADER");
  }
  return {};
}

std::uint32_t scalar_bytes(ParameterKind kind) {
  return kind == ParameterKind::int64 || kind == ParameterKind::float64 ? 8 : 4;
}

}  // namespace

const Shader* Payload::shader_of(std::string_view kernel) const {
  const auto found = by_kernel.find(kernel);
  return found == by_kernel.end() ? nullptr : &shaders[found->second];
}

Result<Payload> read_payload(Blob& blob) {
  ByteReader& in = blob.reader();
  GANTRY_TRY(const std::string_view format, in.read_string("format"));
  if (format != payload_format) {
    return unsupported("payload format is ", quoted(format), ", known is \"vulkan\"")
        .with_reason("BLOB_FORMAT");
  }
  Payload payload;
  GANTRY_TRY(payload.table, read_kernel_table(blob, read_shaders));
  const std::uint64_t shaders_at = in.offset();
  GANTRY_TRY(payload.shaders, read_shaders(in));
  GANTRY_CHECK(index_shaders(payload, shaders_at));
  payload.kept = blob.keep();
  return payload;
}

Status write_payload(const Payload& payload, const Sink& sink) {
  SinkStream out(&sink.raw());
  out.write_text(payload_format);
  write_kernel_table(out, payload.table);
  out.Write<std::uint64_t>(payload.shaders.size());
  for (const Shader& shader : payload.shaders) {
    out.write_text(shader.kernel);
    if (shader.is_sized) out.Write<std::uint64_t>(shader_head_bytes + shader.words.size());
    out.Write<std::uint32_t>(shader.flags);
    out.Write<std::uint64_t>(shader.words.size() / sizeof(std::uint32_t));
    out.write(shader.words);
  }
  return {};
}

Result<Kernel> make_kernel(const KernelInfo& info, const Shader& shader) {
  GANTRY_TRY(KernelCall call, KernelCall::parse(info));
  GANTRY_CHECK(call.needs_grid_and_block_only("vulkan"));
  GANTRY_TRY(ShaderFacts facts, read_shader(shader.words, shader.words_at, info.name));
  Kernel kernel(std::move(call), std::move(facts), shader.words);
  ShaderInterface interface { .kernel = info.name, .at = shader.words_at };
  for (std::size_t i = 0; i < kernel.call.parameter_count(); ++i) {
    const ParameterKind kind = kernel.call.parameter(i);
    if (kind == ParameterKind::pointer) {
      ++kernel.buffer_count;
    } else {
      interface.scalar_sizes.push_back(scalar_bytes(kind));
    }
  }
  interface.buffer_count = kernel.buffer_count;
  interface.uniform = (shader.flags & scalars_in_uniform_buffer) != 0;
  GANTRY_TRY(kernel.scalar_bytes, match_shader(kernel.shader, interface));
  return kernel;
}

}  // namespace gantry::vulkan
