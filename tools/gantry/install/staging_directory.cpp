// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/install/staging_directory.hpp"

#include "core/base/replace_file.hpp"
#include "core/base/signals_blocked.hpp"

#include <gantry/descriptor.hpp>
#include <gantry/quoted.hpp>

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <unordered_set>

namespace gantry::cli {

namespace fs = std::filesystem;

// Paths in the order of creation. Changed only while signals are blocked.
struct StagingDirectory::Added {
  struct Entry {
    std::string path;
    bool is_directory;
  };
  std::vector<Entry> entries;
  // of the entries, to find one
  std::unordered_set<std::string> directories;

  // Does not allocate.
  void remove() const {
    for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
      if (entry->is_directory) {
        ::rmdir(entry->path.c_str());
      } else {
        ::unlink(entry->path.c_str());
      }
    }
  }
};

namespace {

Status synchronize(const fs::path& directory) {
  const Descriptor opened(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened) return cannot_write(directory, errno);
  // Some file systems cannot synchronize a directory.
  if (::fsync(opened.get()) != 0 && errno != EINVAL) return cannot_write(directory, errno);
  return {};
}

// Renames a directory, or returns false with errno; EEXIST if `to` exists, also as an empty directory.
bool rename_directory(const char* from, const char* to) {
  if (::renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0) return true;
  if (errno != EINVAL && errno != ENOSYS) return false;
  // NFS and other file systems have no such rename. A plain one replaces an empty directory only, and
  // this one is of this process.
  if (::mkdir(to, 0700) != 0) return false;
  if (::rename(from, to) == 0) return true;
  const int number = errno;
  ::rmdir(to);
  errno = number;
  return false;
}

Status write_all(int descriptor, std::span<const std::uint8_t> bytes, const fs::path& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return cannot_write(path, errno);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return {};
}

}  // namespace

Result<StagingDirectory> StagingDirectory::beside(const fs::path& target,
                                                  const StagingLimits& limits) {
  StagingDirectory made;
  made.limits_ = limits;
  made.added_ = std::make_shared<Added>();
  std::string pattern = (directory_of(target) / concat(temporary_name(target), "XXXXXX")).native();
  const SignalsBlocked blocked;
  if (::mkdtemp(pattern.data()) == nullptr) return cannot_write(target, errno);
  made.path_ = pattern;
  made.added_->entries.push_back({std::move(pattern), true});
  made.cleanup_ =
      std::make_unique<CleanUpOnSignal>([added = made.added_.get()] { added->remove(); });
  if (::chmod(made.path_.c_str(), 0755) != 0) return cannot_write(target, errno);
  return made;
}

StagingDirectory::~StagingDirectory() {
  if (!added_) return;
  cleanup_.reset();
  added_->remove();
}

Status StagingDirectory::check(std::string_view name) const {
  for (const fs::path& part : fs::path(name)) {
    if (part.empty() || part == "." || part == ".." || part == "/") {
      return malformed(no_offset, "file name is ", quoted(name),
                       ", expected a relative path without \"..\"");
    }
  }
  if (name.empty() || name.find('\0') != std::string_view::npos) {
    return malformed(no_offset, "file name is ", quoted(name), ", expected a relative path");
  }
  // The first entry is the directory itself.
  if (added_->entries.size() > limits_.files) {
    return malformed(no_offset, quoted(name), " is file ", added_->entries.size(), ", limit is ",
                     limits_.files);
  }
  return {};
}

Status StagingDirectory::make_directory(const std::string& path) {
  if (added_->directories.contains(path)) return {};
  const SignalsBlocked blocked;
  if (::mkdir(path.c_str(), 0755) != 0) return cannot_write(path, errno);
  added_->entries.push_back({path, true});
  added_->directories.insert(path);
  if (::chmod(path.c_str(), 0755) != 0) return cannot_write(path, errno);
  return {};
}

Status StagingDirectory::add_directory(std::string_view name) {
  GANTRY_CHECK(check(name));
  fs::path path = path_;
  for (const fs::path& part : fs::path(name)) GANTRY_CHECK(make_directory((path /= part).native()));
  return {};
}

Status StagingDirectory::add_file(std::string_view name, std::span<const std::uint8_t> bytes,
                                  bool executable) {
  GANTRY_CHECK(check(name));
  if (bytes.size() > limits_.bytes - bytes_) {
    return malformed(no_offset, quoted(name), " has ", bytes.size(), " bytes after ", bytes_,
                     " bytes of other files, limit is ", limits_.bytes);
  }
  bytes_ += bytes.size();
  if (const std::string parent = fs::path(name).parent_path().native(); !parent.empty())
    GANTRY_CHECK(add_directory(parent));
  const fs::path path = path_ / name;
  Descriptor file(-1);
  {
    const SignalsBlocked blocked;
    file = Descriptor(
        ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file && errno == EEXIST)
      return malformed(no_offset, "file ", quoted(name), " occurs twice");
    if (!file) return cannot_write(path, errno);
    added_->entries.push_back({path.native(), false});
  }
  GANTRY_CHECK(write_all(file.get(), bytes, path));
  if (::fchmod(file.get(), executable ? 0755 : 0644) != 0 || ::fsync(file.get()) != 0)
    return cannot_write(path, errno);
  return {};
}

Status StagingDirectory::move_to(std::string_view part, const fs::path& target) {
  for (const Added::Entry& entry : added_->entries)
    if (entry.is_directory) GANTRY_CHECK(synchronize(entry.path));
  const fs::path from = part.empty() ? path_ : path_ / part;
  {
    const SignalsBlocked blocked;
    if (!rename_directory(from.c_str(), target.c_str())) {
      if (errno == EEXIST) return invalid(quoted(target.native()), " exists");
      return cannot_write(target, errno);
    }
    if (part.empty()) added_->entries.clear();
  }
  // The target is complete for every program now. After a failure here the rename could be lost if the
  // machine stops.
  static_cast<void>(synchronize(directory_of(target)));
  return {};
}

}  // namespace gantry::cli
