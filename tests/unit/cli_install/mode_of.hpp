// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>

#include <filesystem>

namespace gantry::test {

// The permissions of a file or directory: 0644. 0 if it does not exist.
inline unsigned mode_of(const std::filesystem::path& path) {
  struct stat about {};
  return ::stat(path.c_str(), &about) == 0 ? about.st_mode & 07777u : 0u;
}

}  // namespace gantry::test
