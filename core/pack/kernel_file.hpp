// SPDX-License-Identifier: Apache-2.0
//
// Files with the sources of kernels, and the languages that their suffixes name.
#pragma once

#include "core/base/mapped_file.hpp"
#include "core/pack/recipe.hpp"

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

// Returns "cuda" for .cu, "opencl" for .cl, "glsl" for .comp and .glsl, "spirv" for .spv, and the
// suffix without its point for others.
std::string language_of(std::string_view file);

struct KernelFile {
  // as written in the recipe
  std::string name;
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
