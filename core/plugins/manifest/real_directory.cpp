// SPDX-License-Identifier: Apache-2.0
#include "core/plugins/manifest/real_directory.hpp"

#include <sys/stat.h>

#include <filesystem>
#include <system_error>

namespace gantry {

std::string real_directory_of(const std::string& file) {
  std::error_code failed;
  const auto real = std::filesystem::weakly_canonical(file, failed);
  return (failed ? std::filesystem::path(file) : real).parent_path().string();
}

std::string RealDirectories::of(const std::string& file, bool is_no_link) {
  const std::size_t slash = file.rfind('/');
  struct stat about {};
  is_no_link = is_no_link || (::lstat(file.c_str(), &about) == 0 && S_ISREG(about.st_mode));
  if (slash == std::string::npos || !is_no_link) return real_directory_of(file);
  const auto [at, is_new] = known_.try_emplace(file.substr(0, slash));
  if (is_new) at->second = real_directory_of(file);
  return at->second;
}

}  // namespace gantry
