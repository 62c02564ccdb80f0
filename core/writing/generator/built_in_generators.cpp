// SPDX-License-Identifier: Apache-2.0
#include "core/writing/generator/built_in_generators.hpp"

#include "core/formats/type_key.hpp"
#include "core/writing/generator/built_in_builds.hpp"

#include <gantry/quoted.hpp>

#include <unistd.h>

#include <cerrno>
#include <memory>
#include <system_error>

namespace gantry {
namespace {

constexpr std::string_view cuda[] = {"cuda"};
constexpr std::string_view opencl[] = {"opencl"};
constexpr std::string_view spirv[] = {"spirv"};
constexpr std::string_view shaders[] = {"glsl", "spirv"};

constexpr BuiltInGenerator rows[] = {
    {.name = "C compiler",
     .target_kind = "c",
     .type_key = library_key,
     .languages = {},
     .use = GeneratorUse::compiled,
     .program = &GeneratorPrograms::compiler,
     .hint = "",
     .warning = "",
     .build = build_library},
    {.name = "nvcc",
     .target_kind = "cuda",
     .type_key = "cuda",
     .languages = cuda,
     .use = GeneratorUse::compiled,
     .program = &GeneratorPrograms::nvcc,
     .hint = "",
     .warning = "",
     .build = build_ptx},
    {.name = "CUDA source",
     .target_kind = "cuda",
     .type_key = "cuda",
     .languages = cuda,
     .use = GeneratorUse::source_last,
     .program = nullptr,
     .hint = "",
     .warning = "CUDA C++ is stored as source, which the host that loads the artifact compiles "
                "with NVRTC: this host has neither NVRTC nor nvcc",
     .build = build_cuda_source},
    {.name = "OpenCL source",
     .target_kind = "opencl",
     .type_key = "opencl",
     .languages = opencl,
     .use = GeneratorUse::source_first,
     .program = nullptr,
     .hint = "",
     .warning = "",
     .build = build_opencl_source},
    {.name = "SPIR-V",
     .target_kind = "vulkan",
     .type_key = "vulkan",
     .languages = spirv,
     .use = GeneratorUse::compiled,
     .program = nullptr,
     .hint = "",
     .warning = "",
     .build = build_shaders},
    {.name = "glslang",
     .target_kind = "vulkan",
     .type_key = "vulkan",
     .languages = shaders,
     .use = GeneratorUse::compiled,
     .program = &GeneratorPrograms::glslang,
     .hint = "GLSL requires glslang: install Debian's package glslang-tools or set GLSLANG",
     .warning = "",
     .build = build_shaders},
};

// `self` of the table.
struct OpenRow {
  const BuiltInGenerator& row;
  const GeneratorTools& tools;

  Status build(const Build& what, const Sink& sink) const { return row.build(tools, what, sink); }
  Status check(const Build&) const {
    GANTRY_CHECK(find_generator_program(row, tools.programs));
    return {};
  }
};

}  // namespace

std::span<const BuiltInGenerator> built_in_generators() { return rows; }

Result<std::string> find_generator_program(const BuiltInGenerator& row,
                                           const GeneratorPrograms& programs) {
  if (row.program == nullptr) return std::string();
  const std::string& name = (programs.*row.program).front();
  auto found = find_program(name, programs.search);
  if (found.ok() && ::access(found->c_str(), X_OK) != 0) {
    const int reason = errno;
    found = unavailable("program ", quoted(name),
                        " cannot be started: ", std::generic_category().message(reason))
                .native("errno", reason);
  }
  if (found.ok()) return found->native();
  Error error = std::move(found).error();
  if (!row.hint.empty() && error.native_code == ENOENT) error.at(row.hint);
  return error;
}

Generator open_built_in(const BuiltInGenerator& row, const GeneratorTools& tools) {
  const auto opened = std::make_shared<OpenRow>(OpenRow{row, tools});
  return {std::string(row.name), detail::generator_table<OpenRow>, opened.get(), opened};
}

}  // namespace gantry
