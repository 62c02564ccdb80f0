// SPDX-License-Identifier: Apache-2.0
#include "core/writing/device_payload.hpp"

#include "core/base/mapped_file.hpp"
#include "core/base/text.hpp"
#include "core/writing/converted_kernels.hpp"
#include "core/writing/converted_payload.hpp"
#include "core/writing/generator/build_payload.hpp"
#include "core/writing/generator/source_language.hpp"
#include "core/writing/recipe.hpp"

#include <gantry/kernel_table.hpp>

#include <dmlc/memory_io.h>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gantry {
namespace {

struct KernelFile {
  // as written in the recipe
  std::string name;
  // as language_of() returns it
  std::string language;
  std::shared_ptr<const MappedFile> file;

  std::string_view text() const;
};

// The files of a module's kernels.
struct KernelFiles {
  // each once, in the order of the kernels
  std::vector<KernelFile> files;
  // index in `files`, for each kernel
  std::vector<std::size_t> of_kernel;
};

std::string_view KernelFile::text() const { return as_text(file->bytes()); }

// directory  [in]   base of relative paths
// returns    not_found or unavailable with the kernel's location
Result<KernelFiles> open_kernel_files(const DeviceModuleSource& module,
                                      const std::filesystem::path& directory) {
  KernelFiles all;
  for (const KernelSource& kernel : module.kernels) {
    auto known = std::ranges::find(all.files, kernel.source, &KernelFile::name);
    if (known == all.files.end()) {
      auto mapped = MappedFile::open(directory / kernel.source);
      if (!mapped.ok()) return std::move(mapped).failure().at(kernel.location);
      all.files.push_back({kernel.source, language_of(kernel.source), std::move(*mapped)});
      known = std::prev(all.files.end());
    }
    all.of_kernel.push_back(static_cast<std::size_t>(known - all.files.begin()));
  }
  return all;
}

// The kernels of a module in the form of the payload.
Result<KernelTable> kernels_of(const DeviceModuleSource& module, const GenerationFacts& form) {
  KernelTable kernels;
  for (const KernelSource& source : module.kernels) {
    // The element types are those of DLPack.
    KernelInfo kernel{source.name, "", source.arguments, source.launch, {}};
    Status converted = convert_kernel(kernel, {.type_key = module.type_key}, form);
    if (!converted.ok()) return std::move(converted).error().at(source.location);
    kernels.add(std::move(kernel));
  }
  return kernels;
}

// What a generator has built, with the names of kernels and the sizes of shaders, which it omits.
Status write_built(const DeviceModuleSource& module, std::string_view bytes,
                   const std::string& generator, const GenerationFacts& form, Pieces& out) {
  const PayloadLayouts layouts = PayloadLayouts::built_in();
  if (!form.has_kernel_names || !layouts.contains(module.type_key)) {
    out.write_bytes(bytes);
    return {};
  }
  ExporterFacts facts;
  facts.argument_tags = form.argument_tags;
  Pieces converted;
  Status done = write_converted_payload(module.type_key, as_bytes(bytes), facts, layouts,
                                        form.generation, converted);
  if (!done.ok()) {
    return std::move(done)
        .error()
        .at("in what generator ", generator, " builds")
        .at(module.location);
  }
  out.append(std::move(converted));
  return {};
}

Status write_sources(const DeviceModuleSource& module, const KernelTable& kernels,
                     const Generators& generators, const GenerationFacts& form, Pieces& out) {
  GANTRY_TRY(const KernelFiles files, open_kernel_files(module, generators.tools.directory));
  BuildJob job;
  job.type_key = module.type_key;
  job.target = module.target;
  job.code = module.code;
  for (const KernelFile& file : files.files) {
    job.sources.push_back({file.name, file.language, file.text()});
  }
  job.kernels = kernels.kernels();
  job.source_of = files.of_kernel;
  job.argument_tags = form.argument_tags;
  job.location = module.location;
  job.target_location = module.target_location;
  for (const KernelSource& kernel : module.kernels) {
    job.kernel_locations.push_back(kernel.location);
  }
  std::string bytes;
  dmlc::MemoryStringStream stream(&bytes);
  GANTRY_TRY(const std::string generator, build_payload(job, generators, stream));
  return write_built(module, bytes, generator, form, out);
}

}  // namespace

Status write_device_payload(const DeviceModuleSource& module, const Generators& generators,
                            Pieces& out, Generation generation) {
  const GenerationFacts& form = generation_facts(generation);
  GANTRY_TRY(const KernelTable kernels, kernels_of(module, form));
  if (module.data.empty()) return write_sources(module, kernels, generators, form, out);
  auto file = MappedFile::open(module.data);
  if (!file.ok()) return std::move(file).failure().at(module.location);
  const std::uint64_t size = (*file)->bytes().size();
  if (!module.format.empty()) {
    out.write_text(module.format);
    write_kernel_table(static_cast<dmlc::Stream&>(out), kernels);
    out.Write(size);
  }
  out.append(FileRange{std::move(*file), 0, size});
  return {};
}

}  // namespace gantry
