// SPDX-License-Identifier: Apache-2.0
#include "core/manifest/null_file.hpp"

#include <sys/sysmacros.h>

namespace gantry {

bool is_null_device(const struct stat& about) {
  return S_ISCHR(about.st_mode) && about.st_rdev == makedev(1, 3);
}

bool is_null_file(const std::string& path) {
  struct stat about {};
  if (::stat(path.c_str(), &about) != 0) return false;
  if (S_ISREG(about.st_mode)) return about.st_size == 0;
  return is_null_device(about);
}

}  // namespace gantry
