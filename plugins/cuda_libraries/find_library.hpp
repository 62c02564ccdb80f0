// SPDX-License-Identifier: Apache-2.0
//
// Where a library of NVIDIA's is looked for.
#pragma once

#include <gantry/library.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::cuda_libraries {

// A library in any of its major versions.
struct LibraryNames {
  // for messages: "cuBLAS"
  std::string_view what;
  // in order of preference: "libcublas.so.13"
  std::span<const char* const> sonames;
  // directory of its package below site-packages/nvidia: "cublas"
  std::string_view package;
  // option of this plugin that names its file, and the package of Python and of Debian
  std::string_view option, python_package, debian_package;
  // what NVIDIA distributes it with
  std::string_view product = "the CUDA Toolkit";
};

// Returns the names to try: those of the linker, the CUDA Toolkit's, and those of NVIDIA's packages beside
// each package of Python from which this process has opened a library.
std::vector<std::string> candidates_of(const LibraryNames& names,
                                       std::span<const std::string> python_directories);

// Returns the directories "site-packages" and "dist-packages" that contain files which this process has
// mapped as libraries; none if Python is not its host.
std::vector<std::string> python_directories();

// Opens a library.
//
// named    [in]   value of the option; empty: any of the candidates
// returns  UNAVAILABLE  no library, the text lists names and reasons, and what to install (DRIVER_MISSING)
Result<Library> open_library(const LibraryNames& names, const std::string& named);

}  // namespace gantry::cuda_libraries
