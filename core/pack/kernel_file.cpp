// SPDX-License-Identifier: Apache-2.0
#include "core/pack/kernel_file.hpp"

#include "core/base/text.hpp"
#include "core/generator/source_language.hpp"

#include <algorithm>
#include <utility>

namespace gantry {

std::string_view KernelFile::text() const { return as_text(file->bytes()); }

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

}  // namespace gantry
