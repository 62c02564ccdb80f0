// SPDX-License-Identifier: Apache-2.0
//
// gantry/directory.hpp - lists a directory. std::filesystem::directory_iterator is not used: in
// libstdc++ the overloads with an error code terminate the process if memory for a name is
// exhausted.
#pragma once

#include <dirent.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace gantry {

// Returns the names in a directory, sorted bytewise, independently of locale and file system.
//
// failed   [out]  the error if the list is empty or incomplete, else cleared
// throws          std::bad_alloc
inline std::vector<std::string> names_in(const std::filesystem::path& directory,
                                         std::error_code& failed) {
  failed.clear();
  std::vector<std::string> names;
  const auto close = [](DIR* open) { closedir(open); };
  const std::unique_ptr<DIR, decltype(close)> open(opendir(directory.c_str()), close);
  if (open == nullptr) {
    failed.assign(errno, std::generic_category());
    return names;
  }
  for (;;) {
    errno = 0;
    const dirent* const entry = readdir(open.get());
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  if (errno != 0) failed.assign(errno, std::generic_category());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace gantry
