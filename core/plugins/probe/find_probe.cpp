// SPDX-License-Identifier: Apache-2.0
#include "core/plugins/probe/find_probe.hpp"

#include <unistd.h>

#include <filesystem>

namespace gantry {

ProbeProgram find_probe(const std::string& library_directory) {
  namespace fs = std::filesystem;
  ProbeProgram found;
  if (library_directory.empty()) return found;
  for (const char* const up : {"..", "../.."}) {
    const fs::path path =
        (fs::path(library_directory) / up / "libexec/gantry/gantry-probe").lexically_normal();
    std::error_code ignored;
    if (found.path.empty() && fs::is_regular_file(path, ignored) &&
        ::access(path.c_str(), X_OK) == 0) {
      found.path = path.string();
    }
    found.searched.push_back(path.string());
  }
  return found;
}

}  // namespace gantry
