// SPDX-License-Identifier: Apache-2.0
#include "core/plugins/manifest/null_file.hpp"

#include <gantry/ownership.hpp>

#include <sys/stat.h>

namespace gantry {

bool is_null_file(const std::string& path) {
  struct stat about {};
  if (::stat(path.c_str(), &about) != 0) return false;
  if (S_ISREG(about.st_mode)) return about.st_size == 0;
  return is_null_device(about);
}

}  // namespace gantry
