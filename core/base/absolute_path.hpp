// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <climits>
#include <filesystem>
#include <system_error>

namespace gantry {

// Returns the absolute form of a path, or the path itself if that form cannot be opened: the working directory was removed, or is
// so deep that the system refuses its path.
inline std::filesystem::path absolute_path(const std::filesystem::path& path) {
  std::error_code failed;
  std::filesystem::path whole = std::filesystem::absolute(path, failed);
  return failed || whole.native().size() >= PATH_MAX ? path : whole;
}

}  // namespace gantry
