// SPDX-License-Identifier: Apache-2.0
#include "core/base/input_files.hpp"

#include <gantry/quoted.hpp>

#include <sys/stat.h>

namespace gantry {

void InputFiles::add(const std::filesystem::path& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) == 0 && S_ISREG(found.st_mode)) {
    paths_.emplace(identity_of(found), path);
  }
}

void InputFiles::add(const InputFiles& others) {
  paths_.insert(others.paths_.begin(), others.paths_.end());
}

Status InputFiles::check_output(const std::filesystem::path& target, FileIdentity identity) const {
  const auto input = paths_.find(identity);
  if (input == paths_.end()) return {};
  const std::string same =
      input->second == target ? "" : concat(", the same file as ", quoted(input->second.native()));
  return invalid("cannot write ", quoted(target.native()), ": it is an input of this command", same,
                 "; choose another output")
      .with_reason("OUTPUT_IS_INPUT");
}

}  // namespace gantry
