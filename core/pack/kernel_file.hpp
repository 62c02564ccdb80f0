// SPDX-License-Identifier: Apache-2.0
//
// Files with the sources of kernels.
#pragma once

#include "core/base/mapped_file.hpp"
#include "core/pack/recipe.hpp"

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

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

// directory  [in]   base of relative paths
// returns    not_found or unavailable with the kernel's location
Result<KernelFiles> open_kernel_files(const DeviceModuleSource& module,
                                      const std::filesystem::path& directory);

}  // namespace gantry
