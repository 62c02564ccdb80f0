// SPDX-License-Identifier: Apache-2.0
#include "core/pack/device_payload.hpp"

#include "core/base/near_name.hpp"
#include "core/base/text.hpp"
#include "core/toolchain/link.hpp"

#include <cerrno>
#include <set>

namespace gantry {
namespace {

constexpr std::string_view marker = "// Function: ";
constexpr std::string_view spirv_magic("\x03\x02\x23\x07", 4);

void write_kernel(const KernelSource& kernel, ContainerForm generation, Pieces& out) {
  out.write_text(kernel.name);
  // the name in FunctionInfo
  out.write_text("");
  out.Write<std::uint64_t>(kernel.arguments.size());
  for (const gantry_dtype& dtype : kernel.arguments) {
    out.Write<std::uint8_t>(dtype.code);
    out.Write<std::uint8_t>(dtype.bits);
    out.Write<std::uint16_t>(dtype.lanes);
  }
  out.Write(kernel.launch);
  if (generation >= ContainerForm::g4) {
    out.Write(std::vector<std::int32_t>(kernel.arguments.size()));
  }
}

std::string_view text_of(const MappedFile& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

// The words of a text that a parenthesis follows, as in the definition of a function.
std::vector<std::string_view> called_names(std::string_view text) {
  std::set<std::string_view> names;
  for (std::size_t open = text.find('('); open != text.npos; open = text.find('(', open + 1)) {
    std::size_t first = open;
    while (first != 0 && is_identifier_character(text[first - 1])) --first;
    if (first != open) names.insert(text.substr(first, open - first));
  }
  return {names.begin(), names.end()};
}

// Loaders split the text at its markers and search the kernel in the part with its name.
Status append_program(const KernelSource& kernel, std::shared_ptr<const MappedFile> file,
                      Pieces& out) {
  const std::string_view text = text_of(*file);
  if (text.find(kernel.name) == std::string_view::npos) {
    return invalid(quoted(kernel.source), " has no function of the kernel's name",
                   did_you_mean(kernel.name, called_names(text)));
  }
  if (text.starts_with(marker) || text.find(concat("\n", marker)) != std::string_view::npos) {
    return invalid(quoted(kernel.source), " has a line that begins with \"", marker,
                   "\", which loaders interpret as the start of the next kernel");
  }
  const std::string line = concat(marker, kernel.name, "\n");
  out.Write(line.data(), line.size());
  out.append(FileRange{file, 0, text.size()});
  out.Write("\n", 1);
  return {};
}

// Loaders require an entry point with the kernel's name, so `main` is renamed.
Status append_shader(const KernelSource& kernel, const ShaderTools& tools, Pieces& out) {
  const std::filesystem::path made = tools.scratch / concat(kernel.name, ".spv");
  std::vector<std::string> words = tools.glslang;
  words.insert(words.end(), {"-V", "-S", "comp", "-e", kernel.name, "--source-entrypoint", "main",
                             "-o", made.native(), kernel.source});
  if (Status run = run_compiler("GLSL compiler", words, tools.directory, tools.search); !run.ok()) {
    Error error = std::move(run).error();
    if (error.native_code == ENOENT) {
      error.at("GLSL requires glslang: install Debian's package glslang-tools or set GLSLANG");
    }
    return error;
  }
  GANTRY_TRY(auto file, MappedFile::open(made));
  const std::string_view spirv = text_of(*file);
  if (!spirv.starts_with(spirv_magic) || spirv.size() % 4 != 0) {
    return unavailable("GLSL compiler ", quoted(words.front()), " produces ", spirv.size(),
                       " bytes that are not SPIR-V");
  }
  out.write_text(kernel.name);
  // flags: 0, scalars are push constants
  out.Write<std::uint32_t>(0);
  out.Write<std::uint64_t>(spirv.size() / 4);
  out.append(FileRange{std::move(file), 0, spirv.size()});
  return {};
}

}  // namespace

Status write_device_payload(const DeviceModuleSource& module, const ShaderTools& tools, Pieces& out,
                            ContainerForm generation) {
  const bool shaders = module.data.empty() && module.format == "vulkan";
  Pieces code;
  if (!module.data.empty()) {
    auto file = MappedFile::open(module.data);
    if (!file.ok()) return std::move(file).failure().at(module.location);
    const std::uint64_t size = (*file)->bytes().size();
    code.append(FileRange{std::move(*file), 0, size});
  } else {
    for (const KernelSource& kernel : module.kernels) {
      const auto append = [&]() -> Status {
        GANTRY_TRY(auto file, MappedFile::open(tools.directory / kernel.source));
        return shaders ? append_shader(kernel, tools, code)
                       : append_program(kernel, std::move(file), code);
      };
      if (Status done = append(); !done.ok()) return std::move(done).error().at(kernel.location);
    }
  }
  if (!module.format.empty()) {
    out.write_text(module.format);
    out.Write<std::uint64_t>(module.kernels.size());
    for (const KernelSource& kernel : module.kernels) write_kernel(kernel, generation, out);
    out.Write<std::uint64_t>(shaders ? module.kernels.size() : code.size());
  }
  out.append(std::move(code));
  return {};
}

}  // namespace gantry
