// SPDX-License-Identifier: Apache-2.0
//
// The files that a command reads. Everything that writes a file takes them and refuses to replace
// one of them.
#pragma once

#include "core/base/mapped_file.hpp"

#include <filesystem>
#include <map>

namespace gantry {

class InputFiles {
 public:
  // Adds the regular file at `path`, following links. No effect if there is none, which its reader
  // reports.
  void add(const std::filesystem::path& path);
  void add(const InputFiles& others);

  // Checks that `target` is none of the files, under any path, link or hard link.
  //
  // identity [in]   of the file that `target` names now
  // returns  invalid, reason OUTPUT_IS_INPUT
  Status check_output(const std::filesystem::path& target, FileIdentity identity) const;

 private:
  // the first path under which each was added
  std::map<FileIdentity, std::filesystem::path> paths_;
};

}  // namespace gantry
