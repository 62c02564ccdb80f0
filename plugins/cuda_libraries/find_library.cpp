// SPDX-License-Identifier: Apache-2.0
#include "find_library.hpp"

#include <link.h>

#include <algorithm>

namespace gantry::cuda_libraries {

std::vector<std::string> python_directories() {
  std::vector<std::string> found;
  const auto add = [](dl_phdr_info* object, std::size_t, void* into) {
    const std::string_view path = object->dlpi_name == nullptr ? "" : object->dlpi_name;
    for (const std::string_view name : {"/site-packages/", "/dist-packages/"}) {
      const std::size_t at = path.find(name);
      if (at == path.npos) continue;
      std::string directory(path.substr(0, at + name.size() - 1));
      auto& directories = *static_cast<std::vector<std::string>*>(into);
      if (std::ranges::find(directories, directory) == directories.end())
        directories.push_back(std::move(directory));
    }
    return 0;
  };
  dl_iterate_phdr(add, &found);
  return found;
}

std::vector<std::string> candidates_of(const LibraryNames& names,
                                       std::span<const std::string> python_directories) {
  std::vector<std::string> candidates(names.sonames.begin(), names.sonames.end());
  for (const char* const soname : names.sonames)
    candidates.push_back(concat("/usr/local/cuda/lib64/", soname));
  for (const std::string& directory : python_directories) {
    for (const std::string_view soname : names.sonames) {
      // Packages up to CUDA 12 have a directory for each library, those of CUDA 13 one for all.
      const std::string_view major = soname.substr(soname.rfind('.') + 1);
      candidates.push_back(concat(directory, "/nvidia/", names.package, "/lib/", soname));
      if (major == "13" || names.sonames.size() == 1)
        candidates.push_back(concat(directory, "/nvidia/cu13/lib/", soname));
    }
  }
  return candidates;
}

Result<Library> open_library(const LibraryNames& names, const std::string& named) {
  std::vector<std::string> candidates{named};
  if (named.empty()) candidates = candidates_of(names, python_directories());
  std::vector<const char*> tried;
  for (const std::string& candidate : candidates) tried.push_back(candidate.c_str());
  Result<Library> library = Library::open(names.what, tried);
  if (library.ok()) return library;
  if (named.empty()) {
    library.error().at("it comes with ", names.product, ", with the Python package ",
                       names.python_package, " and with Debian's ", names.debian_package,
                       "; the plugin's option ", names.option,
                       " names a file in another directory");
  } else {
    library.error().at("the plugin's option ", names.option, " names this file");
  }
  return library;
}

}  // namespace gantry::cuda_libraries
