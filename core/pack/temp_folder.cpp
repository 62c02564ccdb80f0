// SPDX-License-Identifier: Apache-2.0
#include "core/pack/temp_folder.hpp"

#include "core/tensor/replace_file.hpp"

#include <gantry/wall.hpp>

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace gantry {

namespace fs = std::filesystem;

Result<TempFolder> TempFolder::beside(const fs::path& target) {
  const fs::path folder = folder_of(target);
  // The compiler works in another folder than we do. Whole before it is made: what may fail, fails first.
  std::error_code failed;
  const fs::path name = folder / concat(".", target.filename().native(), ".XXXXXX");
  const fs::path whole = fs::absolute(name, failed);
  TempFolder made;
  std::string pattern = (failed ? name : whole).native();
  if (::mkdtemp(pattern.data()) == nullptr) return cannot_write(target, errno);
  made.name_ = std::move(pattern);  // from now on it is removed
  made.path_ = made.name_;
  return made;
}

TempFolder::~TempFolder() {
  if (name_.empty()) return;
  // It ends at the first refusal, or for want of memory: a second attempt takes what a passing one has left.
  for (int attempt = 0; attempt < 2; ++attempt) {
    const Status ignored = guard([&]() -> Status {  // nobody is left to tell
      std::error_code failed;
      fs::remove_all(name_, failed);  // path_ may not be made yet
      return {};
    });
    (void)ignored.ok();
  }
}

}  // namespace gantry
