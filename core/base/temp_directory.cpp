// SPDX-License-Identifier: Apache-2.0
#include "core/base/temp_directory.hpp"

#include "core/base/replace_file.hpp"
#include "core/base/signals_blocked.hpp"

#include <gantry/descriptor.hpp>
#include <gantry/ownership.hpp>
#include <gantry/quoted.hpp>

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace gantry {

namespace fs = std::filesystem;

namespace {

// of directories below the temporary one; the compiler creates none
constexpr int max_depth = 8;

// Does not allocate, so that it also works when memory is exhausted.
//
// directory   [in]   open
void remove_files_in(int directory, int depth) {
  alignas(dirent64) char entries[2048];
  for (bool removed = true; removed && ::lseek(directory, 0, SEEK_SET) == 0;) {
    removed = false;
    for (ssize_t size = 0; (size = ::getdents64(directory, entries, sizeof entries)) > 0;) {
      for (ssize_t at = 0; at < size;) {
        const auto* const entry = reinterpret_cast<const dirent64*>(entries + at);
        at += entry->d_reclen;
        const std::string_view name = entry->d_name;
        if (name == "." || name == "..") continue;
        if (entry->d_type == DT_DIR && depth < max_depth) {
          const Descriptor below(
              ::openat(directory, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
          if (below) remove_files_in(below.get(), depth + 1);
        }
        const int kind = entry->d_type == DT_DIR ? AT_REMOVEDIR : 0;
        removed |= ::unlinkat(directory, entry->d_name, kind) == 0;
      }
    }
  }
}

void remove_directory(int directory, const char* name) {
  // The second attempt removes what a passing failure has left.
  for (int attempt = 0; attempt < 2; ++attempt) {
    if (directory >= 0) remove_files_in(directory, 0);
    if (::rmdir(name) == 0) break;
  }
}

// Checks that only this user and root can replace what is in a directory.
Status check_directory(const fs::path& directory) {
  std::error_code failed;
  const fs::path whole = fs::absolute(directory, failed);
  if (failed) return unavailable(failed.message());
  return Ownership(TrustedOwners::of_user()).check(whole.string());
}

}  // namespace

Result<TempDirectory> TempDirectory::in(const fs::path& directory, std::string_view name) {
  const auto refused = [&](const Message& why) {
    return unavailable("no directory for temporary files can be created in ",
                       quoted(directory.native()), ": ", why,
                       "; set the variable TMPDIR to a directory that no other user can change");
  };
  if (const Status trusted = check_directory(directory); !trusted.ok())
    return refused(trusted.error().message).with_reason(trusted.error().reason);
  auto made = beside(directory / name);
  if (made.ok()) return made;
  const int number = static_cast<int>(made.error().native_code);
  return refused(std::strerror(number)).native("errno", number);
}

bool TempDirectory::is_safe_beside(const fs::path& target) {
  return check_directory(directory_of(target)).ok();
}

Result<TempDirectory> TempDirectory::beside(const fs::path& target) {
  const fs::path directory = directory_of(target);
  // Absolute, since the compiler runs in another working directory. Everything that may fail is
  // done before the directory is created.
  std::error_code failed;
  const fs::path name = directory / concat(temporary_name(target), "XXXXXX");
  const fs::path whole = fs::absolute(name, failed);
  const SignalsBlocked blocked;
  TempDirectory made;
  std::string pattern = (failed ? name : whole).native();
  if (::mkdtemp(pattern.data()) == nullptr) return cannot_write(target, errno);
  // from here on the destructor removes the directory
  made.name_ = std::move(pattern);
  made.directory_ = ::open(made.name_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (made.directory_ < 0) return cannot_write(target, errno);
  made.path_ = made.name_;
  made.cleanup_ =
      std::make_unique<CleanUpOnSignal>([directory = made.directory_, name = made.name_] {
        remove_directory(directory, name.c_str());
      });
  return made;
}

TempDirectory::~TempDirectory() {
  if (name_.empty()) return;
  cleanup_.reset();
  remove_directory(directory_, name_.c_str());
  if (directory_ >= 0) ::close(directory_);
}

}  // namespace gantry
