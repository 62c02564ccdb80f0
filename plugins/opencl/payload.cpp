// SPDX-License-Identifier: Apache-2.0
#include "payload.hpp"

#include "core/formats/opencl_text.hpp"

#include <gantry/dmlc_stream.hpp>
#include <gantry/payload_format.hpp>

#include <algorithm>
#include <cstring>
#include <map>
#include <string>

namespace gantry::opencl {
namespace {

constexpr std::uint32_t spirv_magic = 0x07230203;

// Maps a kernel's name to the index of its program.
using Named = std::map<std::string_view, std::size_t>;

// True for the layout that begins with a format. The SPIR-V layout begins with a count and the
// length of a name, which do not read as a short word.
bool begins_with_format(const ByteReader& in) {
  ByteReader ahead = in;
  const auto format = ahead.read_string("format");
  return format.ok() && is_format(*format);
}

Result<CodeForm> form_of(std::string_view format) {
  if (format == "cl") return CodeForm::source;
  for (const std::string_view binary : {"clbin", "xclbin", "awsxclbin", "aocx"}) {
    if (format == binary) return CodeForm::binary;
  }
  return unsupported("opencl payload has format ", quoted(format),
                     ", known are cl, clbin, xclbin, awsxclbin and aocx")
      .with_reason("BLOB_FORMAT");
}

// Splits a text into the programs of its kernels. If a name occurs twice, the first program is
// used.
//
// returns  empty: no line begins with the marker
Named split(std::string_view text, std::vector<Program>& programs) {
  Named named;
  const auto next_marker = [&](std::size_t from) {
    for (std::size_t at = text.find(opencl_marker, from); at != std::string_view::npos;
         at = text.find(opencl_marker, at + 1)) {
      if (at == 0 || text[at - 1] == '\n') return at;
    }
    return std::string_view::npos;
  };
  for (std::size_t at = next_marker(0); at != std::string_view::npos;) {
    const std::size_t name_at = at + opencl_marker.size();
    const std::size_t line_end = std::min(text.find('\n', name_at), text.size());
    const std::size_t next = next_marker(line_end);
    std::string_view name = text.substr(name_at, line_end - name_at);
    while (!name.empty() && (name.back() == '\r' || name.back() == ' ')) name.remove_suffix(1);
    named.emplace(name, programs.size());
    programs.push_back(
        {CodeForm::source, text.substr(line_end, std::min(next, text.size()) - line_end), {}});
    at = next;
  }
  return named;
}

std::string names_of(const Named& named) {
  std::string names;
  for (const auto& [name, index] : named) {
    if (names.size() > 200) return names + ", ...";
    names.append(names.empty() ? "" : ", ").append(quoted(name));
  }
  return names.empty() ? "none" : names;
}

// Assigns to each kernel the program of the same name.
Status assign(Payload& payload, const Named& named, std::uint64_t at) {
  for (const KernelInfo& kernel : payload.table.kernels()) {
    const auto found = named.find(kernel.name);
    if (found == named.end()) {
      return malformed(at, "kernel ", quoted(kernel.name),
                       " has no code; there is code for: ", names_of(named))
          .with_reason("KERNEL_CODE");
    }
    payload.program_of.push_back(found->second);
  }
  return {};
}

// Reads a program that is not divided.
//
// at       [in]   offset of the code
Result<Program> whole_program(CodeForm form, std::string_view code, std::uint64_t at) {
  if (form != CodeForm::binary || !code.starts_with(clbin_mark)) return Program{form, code, {}};
  ByteReader in = ByteReader::of_text(code.substr(clbin_mark.size()), at + clbin_mark.size());
  GANTRY_TRY(const std::string_view device, in.read_string("device of the binary"));
  if (in.at_end()) {
    return malformed(in.offset(), "binary for ", quoted(device), " is empty")
        .with_reason("KERNEL_CODE");
  }
  return Program{form, code.substr(static_cast<std::size_t>(in.offset() - at)), device};
}

Status read_common(Blob& blob, Payload& payload) {
  ByteReader& in = blob.reader();
  GANTRY_TRY(payload.format, in.read_string("format"));
  GANTRY_TRY(const CodeForm form, form_of(*payload.format));
  GANTRY_TRY(payload.table,
             read_kernel_table(blob, [](ByteReader& rest) { return rest.read_string("code"); }));
  const std::uint64_t code_at = in.offset();
  GANTRY_TRY(payload.data, in.read_string("code"));
  const std::string_view code = payload.data;
  if (form == CodeForm::source) {
    const Named named = split(code, payload.programs);
    if (!named.empty()) return assign(payload, named, code_at);
  }
  GANTRY_TRY(const Program program, whole_program(form, code, code_at + sizeof(std::uint64_t)));
  payload.programs.push_back(program);
  payload.program_of.assign(payload.table.size(), 0);
  return {};
}

Result<std::vector<Shader>> read_shaders(ByteReader& in) {
  GANTRY_TRY(const std::uint64_t count, in.read_count(20, "shaders"));
  std::vector<Shader> shaders(count);
  for (Shader& shader : shaders) {
    GANTRY_TRY(shader.name, in.read_string("shader name"));
    GANTRY_TRY(shader.flag, in.read_u32("shader flag"));
    GANTRY_TRY(const std::uint64_t word_count, in.read_count(4, "shader words"));
    const std::uint64_t words_at = in.offset();
    GANTRY_TRY(shader.words, in.read_bytes(4 * word_count, "shader words"));
    std::uint32_t magic = 0;
    if (shader.words.size() >= sizeof magic) std::memcpy(&magic, shader.words.data(), sizeof magic);
    if (magic != spirv_magic) {
      return malformed(words_at, "shader ", quoted(shader.name), " begins with ", Hex{magic},
                       ", SPIR-V with ", Hex{spirv_magic})
          .with_reason("SHADER");
    }
  }
  return shaders;
}

Status read_spirv(Blob& blob, Payload& payload) {
  ByteReader& in = blob.reader();
  GANTRY_TRY(payload.table, read_kernel_table(blob, read_shaders));
  const std::uint64_t shaders_at = in.offset();
  GANTRY_TRY(payload.shaders, read_shaders(in));
  Named named;
  for (const Shader& shader : payload.shaders) {
    if (!named.emplace(shader.name, payload.programs.size()).second) {
      return malformed(shaders_at, "shader ", quoted(shader.name), " appears twice")
          .with_reason("KERNEL_CODE");
    }
    payload.programs.push_back(
        {CodeForm::spirv,
         {reinterpret_cast<const char*>(shader.words.data()), shader.words.size()},
         {}});
  }
  return assign(payload, named, shaders_at);
}

}  // namespace

Result<Payload> read_payload(Blob& blob) {
  Payload payload;
  GANTRY_CHECK(begins_with_format(blob.reader()) ? read_common(blob, payload)
                                                 : read_spirv(blob, payload));
  payload.calls.reserve(payload.table.size());
  for (const KernelInfo& kernel : payload.table.kernels()) {
    GANTRY_TRY(KernelCall call, KernelCall::parse(kernel));
    GANTRY_CHECK(call.needs_grid_and_block_only("opencl"));
    payload.calls.push_back(std::move(call));
  }
  payload.kept = blob.keep();
  return payload;
}

Status write_payload(const Payload& payload, const Sink& sink) {
  SinkStream out(&sink.raw());
  if (payload.format) out.write_text(*payload.format);
  write_kernel_table(out, payload.table);
  if (payload.format) {
    out.write_text(payload.data);
    return {};
  }
  out.Write<std::uint64_t>(payload.shaders.size());
  for (const Shader& shader : payload.shaders) {
    out.write_text(shader.name);
    out.Write<std::uint32_t>(shader.flag);
    out.Write<std::uint64_t>(shader.words.size() / sizeof(std::uint32_t));
    out.write(shader.words);
  }
  return {};
}

}  // namespace gantry::opencl
