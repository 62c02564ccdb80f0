// SPDX-License-Identifier: Apache-2.0
#include "core/base/mapped_file.hpp"
#include "core/base/text.hpp"
#include "core/formats/spirv_shader.hpp"
#include "core/writing/generator/built_in_builds.hpp"

#include <gantry/payload_writer.hpp>
#include <gantry/quoted.hpp>

#include <cstring>

namespace gantry {
namespace {

// The SPIR-V of a GLSL file. Loaders require an entry point with the kernel's name, so `main` is
// renamed.
Result<std::string> compiled_shader(const std::string& kernel, const BuildSource& source,
                                    const GeneratorTools& tools, const Build& what) {
  const std::filesystem::path made = tools.scratch / concat(kernel, ".spv");
  std::vector<std::string> words = tools.programs.glslang;
  words.insert(words.end(), {"-V", "-S", "comp", "-e", kernel, "--source-entrypoint", "main", "-o",
                             made.native(), std::string(source.name)});
  GANTRY_CHECK(run_for(what, "GLSL compiler", words, tools));
  GANTRY_TRY(const auto file, MappedFile::open(made));
  const std::string_view code = as_text(file->bytes());
  std::uint32_t magic = 0;
  if (code.size() >= sizeof magic) std::memcpy(&magic, code.data(), sizeof magic);
  if (magic != spirv_magic || code.size() % 4 != 0) {
    return unavailable("GLSL compiler ", quoted(words.front()), " produces ", code.size(),
                       " bytes that are not SPIR-V");
  }
  return std::string(code);
}

Result<std::string> spirv_of(const std::string& kernel, const BuildSource& source,
                             const GeneratorTools& tools, const Build& what) {
  if (source.language != "spirv") return compiled_shader(kernel, source, tools, what);
  if (source.text.size() % 4 == 0) return std::string(source.text);
  return malformed(0, "shader ", quoted(source.name), " has ", source.text.size(),
                   " bytes, expected a multiple of 4");
}

// Loaders check the same when the kernel is first called.
Status check_shader(const KernelInfo& kernel, const BuildSource& source, std::string_view code) {
  GANTRY_TRY(const ShaderFacts facts, read_shader(as_bytes(code), 0, kernel.name));
  if (facts.entry_point != kernel.name) {
    return invalid("shader ", quoted(source.name), " has entry point ", quoted(facts.entry_point),
                   ", expected the kernel's name");
  }
  ShaderInterface interface { .kernel = kernel.name };
  for (const gantry_dtype& dtype : kernel.parameters) {
    if (dtype.code == 3) {
      ++interface.buffer_count;
    } else {
      interface.scalar_sizes.push_back(dtype.bits > 32 ? 8 : 4);
    }
  }
  GANTRY_CHECK(match_shader(facts, interface));
  return {};
}

Status append_shader(const KernelInfo& kernel, const BuildSource& source,
                     const GeneratorTools& tools, const Build& what, PayloadWriter& out) {
  GANTRY_TRY(const std::string code, spirv_of(kernel.name, source, tools, what));
  GANTRY_CHECK(check_shader(kernel, source, code));
  out.Write(kernel.name);
  // flags: 0, scalars are push constants
  out.Write(std::uint32_t{0});
  out.Write(std::uint64_t{code.size() / 4});
  out.append(code);
  return {};
}

}  // namespace

Status build_shaders(const GeneratorTools& tools, const Build& what, const Sink& sink) {
  GANTRY_TRY(const KernelTable kernels, what.kernels());
  const std::vector<BuildSource> sources = what.sources();
  PayloadWriter out;
  out.Write("vulkan");
  write_kernel_table(out, kernels);
  out.Write(std::uint64_t{kernels.size()});
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    Status done = append_shader(kernels.kernels()[i], sources[what.source_of(i)], tools, what, out);
    if (done.ok()) continue;
    what.at_kernel(i);
    return done;
  }
  return sink.write(out.bytes());
}

}  // namespace gantry
