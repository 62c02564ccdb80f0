// SPDX-License-Identifier: Apache-2.0
//
// gantry/cache_directory.hpp - a directory of files of one suffix, which any process may remove at
// any time; DiskCache stores contents in one. It is used only if no other user but root can change
// what its path leads to.
//
// thread   any; several processes may use one directory
#pragma once

#include <gantry/concat.hpp>
#include <gantry/descriptor.hpp>
#include <gantry/directory.hpp>
#include <gantry/ownership.hpp>
#include <gantry/result.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace gantry {

class CacheDirectory {
 public:
  // path     [in]   empty: nothing is cached
  // suffix   [in]   of the files: ".cache"
  CacheDirectory(std::string path, std::string_view suffix)
      : path_(std::move(path)), suffix_(suffix) {}

  const std::string& path() const { return path_; }
  std::string path_of(std::string_view name) const { return concat(path_, '/', name, suffix_); }

  // Checks every component of the path that exists: only this user and root can change it.
  //
  // returns  unavailable, reason PERMISSIONS, with the component, its owner and its mode
  // costs    one lstat() for each component
  Status check() const {
    std::error_code failed;
    const std::filesystem::path whole = std::filesystem::absolute(path_, failed);
    if (failed) return refused(failed.message());
    Status trusted = Ownership(TrustedOwners::of_user()).check(whole.string());
    return trusted.ok() ? std::move(trusted) : refused(trusted.error().message);
  }

  // True if this user may not create files in it, or its missing directories: it belongs to another
  // user, or its file system is read-only. False if a component is no directory, which create()
  // reports.
  //
  // costs    one system call for each missing component, and two more
  bool is_denied() const {
    std::error_code failed;
    std::filesystem::path part = std::filesystem::absolute(path_, failed);
    while (!failed && faccessat(AT_FDCWD, part.c_str(), W_OK | X_OK, AT_EACCESS) != 0) {
      if (errno != ENOENT || part == part.parent_path()) {
        const bool is_refused = errno == EACCES || errno == EPERM || errno == EROFS;
        struct stat info {};
        return is_refused && (stat(part.c_str(), &info) != 0 || S_ISDIR(info.st_mode));
      }
      part = part.parent_path();
    }
    return false;
  }

  // Creates every missing directory of the path with access for this user only.
  //
  // returns  as check(); unavailable with errno
  Status create() const {
    GANTRY_CHECK(check());
    std::string path;
    for (const auto& part : std::filesystem::path(path_)) {
      path = (std::filesystem::path(path) / part).string();
      if (mkdir(path.c_str(), S_IRWXU) != 0 && errno != EEXIST && errno != EISDIR &&
          access(path.c_str(), F_OK) != 0)
        return failure(errno);
    }
    // Another user may have created a missing one in a directory such as /tmp.
    return check();
  }

  // What is kept while a file is unfinished: a process that removes its files when a signal ends it
  // returns an object that does so for this path. May be empty.
  using Guard = std::function<std::shared_ptr<void>(const std::string& path)>;

  // Writes a file that only this user can read: under another name, beside it, that make_room()
  // removes, then renamed. After a failure there is no new file.
  //
  // path     [in]   as path_of() returns it; a file of that name is replaced
  // parts    [in]   of the content, in order
  // returns  as create()
  // costs    one fsync
  Status write(const std::string& path, std::initializer_list<std::span<const std::uint8_t>> parts,
               const Guard& guard = {}) const {
    GANTRY_CHECK(create());
    std::string beside = concat(path_, "/XXXXXX", suffix_, unfinished);
    const std::size_t tail = suffix_.size() + unfinished.size();
    const Descriptor file(mkostemps(beside.data(), static_cast<int>(tail), O_CLOEXEC));
    if (!file) return failure(errno);
    const std::shared_ptr<void> guarded = guard ? guard(beside) : nullptr;
    int failed = 0;
    for (const std::span<const std::uint8_t> part : parts) {
      if (failed == 0) failed = write_all(file.get(), part);
    }
    if (failed == 0 && fsync(file.get()) != 0) failed = errno;
    if (failed == 0 && rename(beside.c_str(), path.c_str()) != 0) failed = errno;
    if (failed == 0) return {};
    unlink(beside.c_str());
    return failure(failed);
  }

  // Opens a file that is there. A link is not followed.
  //
  // returns  -1 with errno
  static Descriptor open_file(const std::string& path) {
    return Descriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  }
  // Returns why an open file must not be used; empty: it may. Only a regular file that this user
  // owns and no other user can write is used.
  static std::string_view refusal(const struct stat& file) {
    if (!S_ISREG(file.st_mode)) return "it is not a regular file";
    const bool is_own = file.st_uid == geteuid() && (file.st_mode & (S_IWGRP | S_IWOTH)) == 0;
    return is_own ? std::string_view() : "another user can write it";
  }

  // Removes the oldest files until the total size is within the limit, and what processes that
  // ended early have left for more than an hour: unfinished files of write() and directories whose
  // name begins with `leftover`.
  void make_room(std::uint64_t max_bytes, std::string_view leftover = {}) const {
    struct Stored {
      std::filesystem::file_time_type written;
      std::uint64_t size;
      std::filesystem::path path;
    };
    const std::string unfinished_suffix = concat(suffix_, unfinished);
    std::error_code error;
    std::vector<Stored> entries;
    std::uint64_t total = 0;
    const auto now = std::filesystem::file_time_type::clock::now();
    for (const std::string& name : names_in(path_, error)) {
      const std::filesystem::path path = std::filesystem::path(path_) / name;
      // Set if another process has removed the file.
      std::error_code gone;
      const auto written = std::filesystem::last_write_time(path, gone);
      if (gone) continue;
      const bool is_leftover =
          name.ends_with(unfinished_suffix) || (!leftover.empty() && name.starts_with(leftover));
      if (is_leftover) {
        if (now - written > std::chrono::hours(1)) std::filesystem::remove_all(path, gone);
      } else if (name.ends_with(suffix_)) {
        const std::uint64_t size = std::filesystem::file_size(path, gone);
        if (gone) continue;
        total += size;
        entries.push_back({written, size, path});
      }
    }
    if (total <= max_bytes) return;
    std::sort(entries.begin(), entries.end(),
              [](const Stored& a, const Stored& b) { return a.written < b.written; });
    for (const Stored& entry : entries) {
      if (total <= max_bytes) break;
      std::error_code gone;
      std::filesystem::remove(entry.path, gone);
      total -= entry.size;
    }
  }

 private:
  static constexpr std::string_view unfinished = ".tmp";

  Failure refused(const Message& why) const {
    return unavailable("cache directory ", path_, " is not used: ", why).with_reason("PERMISSIONS");
  }
  static Failure failure(int number) {
    return unavailable(std::strerror(number)).native("errno", number);
  }

  std::string path_;
  std::string_view suffix_;
};

}  // namespace gantry
