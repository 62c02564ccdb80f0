// SPDX-License-Identifier: Apache-2.0
#include "core/pack/device_payload.hpp"

#include "core/base/near_name.hpp"
#include "core/base/text.hpp"
#include "core/format/spirv_shader.hpp"
#include "core/pack/generated_payload.hpp"
#include "core/pack/moved_kernels.hpp"
#include "core/pack/payload_form.hpp"
#include "core/toolchain/link.hpp"

#include <gantry/join.hpp>
#include <gantry/kernel_table.hpp>
#include <gantry/quoted.hpp>

#include <cerrno>
#include <cstring>
#include <optional>
#include <set>
#include <utility>

namespace gantry {
namespace {

// What all payloads of a module have.
struct Head {
  const DeviceModuleSource& module;
  const PayloadForm& form;
  // in that form
  KernelTable kernels;
};

Result<Head> head_of(const DeviceModuleSource& module, ContainerForm generation) {
  Head head{module, payload_form(generation), {}};
  for (const KernelSource& source : module.kernels) {
    // The element types are those of DLPack.
    KernelInfo kernel{source.name, "", source.arguments, source.launch, {}};
    Status moved = move_kernel(kernel, {.type_key = module.type_key}, head.form);
    if (!moved.ok()) return std::move(moved).error().at(source.location);
    head.kernels.add(std::move(kernel));
  }
  return head;
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
  const std::string_view text = as_text(file->bytes());
  if (text.find(kernel.name) == std::string_view::npos) {
    return invalid(quoted(kernel.source), " has no function of the kernel's name",
                   did_you_mean(kernel.name, called_names(text)));
  }
  if (text.starts_with(opencl_marker) ||
      text.find(concat("\n", opencl_marker)) != std::string_view::npos) {
    return invalid(quoted(kernel.source), " has a line that begins with \"", opencl_marker,
                   "\", which loaders interpret as the start of the next kernel");
  }
  out.write_bytes(concat(opencl_marker, kernel.name, "\n"));
  out.append(FileRange{file, 0, text.size()});
  out.Write("\n", 1);
  return {};
}

// The SPIR-V of a GLSL file. Loaders require an entry point with the kernel's name, so `main` is
// renamed.
Result<std::shared_ptr<const MappedFile>> compiled_shader(const KernelSource& kernel,
                                                          const KernelCompilers& tools) {
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
  std::uint32_t magic = 0;
  if (file->bytes().size() >= sizeof magic) {
    std::memcpy(&magic, file->bytes().data(), sizeof magic);
  }
  if (magic != spirv_magic || file->bytes().size() % 4 != 0) {
    return unavailable("GLSL compiler ", quoted(words.front()), " produces ", file->bytes().size(),
                       " bytes that are not SPIR-V");
  }
  return file;
}

// Loaders check the same when the kernel is first called.
Status check_shader(const KernelSource& kernel, const MappedFile& file) {
  GANTRY_TRY(const ShaderFacts facts, read_shader(file.bytes(), 0, kernel.name));
  if (facts.entry_point != kernel.name) {
    return invalid("shader ", quoted(kernel.source), " has entry point ", quoted(facts.entry_point),
                   ", expected the kernel's name");
  }
  ShaderInterface interface { .kernel = kernel.name };
  for (const gantry_dtype& dtype : kernel.arguments) {
    if (dtype.code == 3) {
      ++interface.buffer_count;
    } else {
      interface.scalar_sizes.push_back(dtype.bits > 32 ? 8 : 4);
    }
  }
  const auto matched = match_shader(facts, interface);
  return matched.ok() ? Status() : Status(matched.error());
}

Status append_shader(const KernelSource& kernel, const KernelCompilers& tools,
                     const PayloadForm& form, Pieces& out) {
  std::shared_ptr<const MappedFile> file;
  if (language_of(kernel.source) == "spirv") {
    GANTRY_TRY(file, MappedFile::open(tools.directory / kernel.source));
    if (file->bytes().size() % 4 != 0) {
      return malformed(0, "shader ", quoted(kernel.source), " has ", file->bytes().size(),
                       " bytes, expected a multiple of 4");
    }
  } else {
    GANTRY_TRY(file, compiled_shader(kernel, tools));
  }
  GANTRY_CHECK(check_shader(kernel, *file));
  const std::uint64_t size = file->bytes().size();
  out.write_text(kernel.name);
  // flags: 0, scalars are push constants
  constexpr std::uint32_t flags = 0;
  if (form.has_sized_shaders) out.Write<std::uint64_t>(sizeof flags + sizeof size + size);
  out.Write(flags);
  out.Write<std::uint64_t>(size / 4);
  out.append(FileRange{std::move(file), 0, size});
  return {};
}

// format, kernel table, code
void write_payload(std::string_view format, const Head& head, std::uint64_t count, Pieces&& code,
                   Pieces& out) {
  out.write_text(format);
  write_kernel_table(static_cast<dmlc::Stream&>(out), head.kernels);
  out.Write<std::uint64_t>(count);
  out.append(std::move(code));
}

void write_text_payload(std::string_view format, const Head& head, std::string_view text,
                        Pieces& out) {
  write_payload(format, head, text.size(), pieces_of(text), out);
}

// The payload of kernels of which each has its own piece of code.
Status write_pieces(const Head& head, const KernelCompilers& tools, Pieces& out) {
  const DeviceModuleSource& module = head.module;
  const bool shaders = module.type_key == "vulkan";
  Pieces code;
  for (const KernelSource& kernel : module.kernels) {
    const auto append = [&]() -> Status {
      GANTRY_TRY(auto file, MappedFile::open(tools.directory / kernel.source));
      return shaders ? append_shader(kernel, tools, head.form, code)
                     : append_program(kernel, std::move(file), code);
    };
    if (Status done = append(); !done.ok()) return std::move(done).error().at(kernel.location);
  }
  const std::uint64_t count = shaders ? module.kernels.size() : code.size();
  write_payload(module.format, head, count, std::move(code), out);
  return {};
}

// The sources of a module as one text; #line keeps the files and lines of diagnostics.
std::string source_text(const KernelFiles& files) {
  std::string text;
  for (const KernelFile& file : files.files) {
    text += concat("#line 1 ", quoted(file.name), "\n", file.text(), "\n");
  }
  return text;
}

// NVRTC is missing. Any other failure of the plugin is an error: the payload would depend on it.
bool lacks_nvrtc(const Error& error) {
  return error.code == Code::unavailable && error.reason == "CUDA_SOURCE";
}

// find_program() found no such program.
bool lacks_program(const Error& error) {
  return error.code == Code::unavailable && error.native_code == ENOENT;
}

// CUDA C++: compiled by the plugin, which opens NVRTC, else by nvcc, else stored as source.
Status write_cuda(const Head& head, const KernelFiles& files,
                  const std::optional<KernelTarget>& target, const KernelCompilers& tools,
                  Pieces& out) {
  const DeviceModuleSource& module = head.module;
  for (const KernelFile& file : files.files) {
    if (file.language == "cuda") continue;
    return unsupported("source ", quoted(file.name), " is of language ", quoted(file.language),
                       ", payloads of \"cuda\" are built from CUDA C++, a file *.cu")
        .at(module.location);
  }
  if (module.code != KernelCode::source) {
    Error missing = unavailable("no plugin compiles CUDA C++");
    if (target && !target->kind->plugin.empty()) {
      Result<Pieces> payload =
          generated_payload(module, head.kernels, files, *target, tools, head.form);
      if (payload.ok()) {
        out.append(std::move(*payload));
        return {};
      }
      if (!lacks_nvrtc(payload.error())) return std::move(payload).failure();
      missing = std::move(payload).error();
    }
    // An error of nvcc itself may contain the same errno.
    auto nvcc = find_program(tools.nvcc.front(), tools.search);
    if (nvcc.ok()) {
      Result<std::string> ptx = nvcc_ptx(module, files, target ? target->arch : "", tools);
      if (!ptx.ok()) return std::move(ptx).failure().at(module.location);
      write_text_payload("ptx", head, *ptx, out);
      return {};
    }
    if (!lacks_program(nvcc.error())) return std::move(nvcc).failure().at(module.location);
    if (module.code == KernelCode::compiled) {
      missing.at("nvcc: ", nvcc.error().message);
      return std::move(missing).at("code: compiled requires a compiler; for ", module.location);
    }
    if (tools.warn) {
      Message text(
          "CUDA C++ is stored as source, which the host that loads the artifact compiles "
          "with NVRTC: this host has neither NVRTC nor nvcc");
      tools.warn(text.at(module.location));
    }
  }
  write_text_payload("cuda", head, source_text(files), out);
  return {};
}

Status write_sources(const Head& head, const KernelCompilers& tools, Pieces& out) {
  const DeviceModuleSource& module = head.module;
  const TargetKinds host_kinds;
  const TargetKinds& kinds = tools.kinds == nullptr ? host_kinds : *tools.kinds;
  GANTRY_TRY(const std::optional<KernelTarget> target, target_of(module, kinds));
  // A target is stated for its generator.
  const bool is_source = module.code == KernelCode::source ||
                         (module.code == KernelCode::automatic && module.target.empty());
  if (module.type_key == "opencl" && is_source) return write_pieces(head, tools, out);
  if (module.type_key == "vulkan" && module.code != KernelCode::source) {
    return write_pieces(head, tools, out);
  }
  GANTRY_TRY(const KernelFiles files, open_kernel_files(module, tools.directory));
  if (module.type_key == "cuda") return write_cuda(head, files, target, tools, out);
  if (module.code == KernelCode::source) {
    return unsupported("payloads of type key ", quoted(module.type_key),
                       " contain no source, code: source requires cuda or opencl")
        .at(module.location);
  }
  if (!target && module.type_key == "opencl") {
    return not_found(
               "no installed plugin generates \"opencl\" code, which code: compiled requires; "
               "`gantry targets` lists the generators")
        .at(module.location);
  }
  if (!target) {
    std::set<std::string_view> keys{"cuda", "opencl", "vulkan"};
    for (const KnownTargetKind& known : kinds.all()) {
      if (!known.kind.languages.empty()) keys.insert(known.kind.type_key);
    }
    return not_found("no code generator builds payloads of type key ", quoted(module.type_key),
                     did_you_mean(module.type_key, {keys.begin(), keys.end()}),
                     "; known type keys: ", join(keys))
        .at(module.location);
  }
  GANTRY_TRY(Pieces payload,
             generated_payload(module, head.kernels, files, *target, tools, head.form));
  out.append(std::move(payload));
  return {};
}

}  // namespace

Status write_device_payload(const DeviceModuleSource& module, const KernelCompilers& tools,
                            Pieces& out, ContainerForm generation) {
  GANTRY_TRY(const Head head, head_of(module, generation));
  if (module.data.empty()) return write_sources(head, tools, out);
  auto file = MappedFile::open(module.data);
  if (!file.ok()) return std::move(file).failure().at(module.location);
  const std::uint64_t size = (*file)->bytes().size();
  Pieces code;
  code.append(FileRange{std::move(*file), 0, size});
  if (module.format.empty()) {
    out.append(std::move(code));
  } else {
    write_payload(module.format, head, size, std::move(code), out);
  }
  return {};
}

}  // namespace gantry
