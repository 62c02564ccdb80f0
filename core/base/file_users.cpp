// SPDX-License-Identifier: Apache-2.0
#include "core/base/file_users.hpp"

#include "core/base/text.hpp"
#include "core/base/text_file.hpp"

#include <gantry/directory.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>

namespace gantry {
namespace {

namespace fs = std::filesystem;

bool is_device(const struct stat& file) { return S_ISCHR(file.st_mode) || S_ISBLK(file.st_mode); }

bool is_same(const struct stat& a, const struct stat& b) {
  if (is_device(a) || is_device(b)) {
    return (a.st_mode & S_IFMT) == (b.st_mode & S_IFMT) && a.st_rdev == b.st_rdev;
  }
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

// A process may end, or may be another user's: then it has no descriptors here.
bool has_open(const fs::path& process, const struct stat& file) {
  std::error_code failed;
  const fs::path descriptors = process / "fd";
  for (const std::string& name : names_in(descriptors, failed)) {
    struct stat open {};
    if (::stat((descriptors / name).c_str(), &open) == 0 && is_same(open, file)) return true;
  }
  return false;
}

std::string program_of(const fs::path& process) {
  const auto text = read_text_file((process / "comm").string());
  return text.ok() ? text->substr(0, text->find('\n')) : "";
}

}  // namespace

std::vector<FileUser> other_users_of(const std::string& path, std::size_t max) {
  struct stat file {};
  if (::stat(path.c_str(), &file) != 0) return {};
  std::vector<FileUser> users;
  std::error_code failed;
  for (const std::string& name : names_in("/proc", failed)) {
    const auto number = parse_number<pid_t>(name);
    const fs::path process = fs::path("/proc") / name;
    if (!number || *number == ::getpid() || !has_open(process, file)) continue;
    users.push_back({*number, program_of(process)});
  }
  std::sort(users.begin(), users.end(),
            [](const FileUser& a, const FileUser& b) { return a.process < b.process; });
  if (users.size() > max) users.resize(max);
  return users;
}

}  // namespace gantry
