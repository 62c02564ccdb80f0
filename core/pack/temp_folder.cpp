// SPDX-License-Identifier: Apache-2.0
#include "core/pack/temp_folder.hpp"

#include <gantry/wall.hpp>

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace gantry {
namespace {

namespace fs = std::filesystem;

fs::path folder_of(const fs::path& target) {
  return target.has_parent_path() ? target.parent_path() : fs::path(".");
}

Error system_error(const fs::path& path, std::string_view doing) {
  const int number = errno;
  return fail(number == ENOENT ? Code::not_found : Code::unavailable, path.native(), ": ",
              std::strerror(number), " while ", doing)
      .native("errno", number);
}

Status sync(const fs::path& path, int flags) {
  const int descriptor = ::open(path.c_str(), flags | O_CLOEXEC);
  if (descriptor < 0) return system_error(path, "opening it to flush it");
  Status status;
  if (::fsync(descriptor) != 0) status = system_error(path, "flushing it to disk");
  ::close(descriptor);
  return status;
}

}  // namespace

Result<TempFolder> TempFolder::beside(const fs::path& target) {
  const fs::path folder = folder_of(target);
  // The compiler works in another folder than we do. Whole before it is made: what may fail, fails first.
  std::error_code failed;
  const fs::path name = folder / concat(".", target.filename().native(), ".XXXXXX");
  const fs::path whole = fs::absolute(name, failed);
  TempFolder made;
  std::string pattern = (failed ? name : whole).native();
  if (::mkdtemp(pattern.data()) == nullptr) return system_error(folder, "making a folder in it");
  made.name_ = std::move(pattern);  // from now on it is removed
  made.path_ = made.name_;
  return made;
}

TempFolder::~TempFolder() {
  if (name_.empty()) return;
  const Status ignored = guard([&]() -> Status {  // nobody is left to tell
    // It ends at the first refusal: a second attempt takes what a passing one has left.
    std::error_code failed;
    fs::remove_all(name_, failed);
    if (failed) fs::remove_all(name_, failed);
    return {};
  });
  (void)ignored.ok();
}

Status move_into_place(const fs::path& file, const fs::path& target) {
  GANTRY_CHECK(sync(file, O_RDONLY));
  if (::rename(file.c_str(), target.c_str()) != 0) return system_error(target, "replacing it");
  return sync(folder_of(target), O_RDONLY | O_DIRECTORY);
}

}  // namespace gantry
