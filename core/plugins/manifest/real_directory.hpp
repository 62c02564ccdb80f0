// SPDX-License-Identifier: Apache-2.0
//
// The directories of files without links, to which relative libraries are relative.
#pragma once

#include <string>
#include <unordered_map>

namespace gantry {

// Returns the directory of what a path leads to; as it is written if links cannot be resolved.
std::string real_directory_of(const std::string& file);

// The same for many files: resolves each directory once.
class RealDirectories {
 public:
  // is_no_link  [in]  false: it may be a link
  // costs       one lstat() of what may be a link; one realpath() for a directory that is new, and
  //             for each link
  std::string of(const std::string& file, bool is_no_link = false);

 private:
  // by the directory as it is written
  std::unordered_map<std::string, std::string> known_;
};

}  // namespace gantry
