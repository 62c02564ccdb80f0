// SPDX-License-Identifier: Apache-2.0
//
// gantry/ownership.hpp - checks that only trusted users can change what a path leads to.
//
//     /opt/acme -> /srv/acme-2      each directory, each link and the file itself: owner and mode
//     /opt/acme/lib/libacme.so
#pragma once

#include <gantry/concat.hpp>
#include <gantry/join.hpp>
#include <gantry/message.hpp>
#include <gantry/result.hpp>

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <string>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <utility>
#include <vector>

namespace gantry {

// True for the device of /dev/null, whatever its name is.
inline bool is_null_device(const struct stat& about) {
  return S_ISCHR(about.st_mode) && about.st_rdev == makedev(1, 3);
}

// Whoever owns a component of a path can replace everything below it.
struct TrustedOwners {
  // Returns root and, unless the process is elevated, its effective user and `more`.
  static TrustedOwners of_process(bool elevated, const std::vector<uid_t>& more = {}) {
    TrustedOwners owners;
    owners.elevated = elevated;
    if (elevated) return owners;
    owners.uids.insert(owners.uids.end(), more.begin(), more.end());
    owners.add_uid(geteuid());
    owners.remedy = ": change its owner, or add the uid to trusted_uids";
    return owners;
  }
  // Returns root and the effective user: for directories in which this process creates files.
  static TrustedOwners of_user() {
    TrustedOwners owners;
    owners.add_uid(geteuid());
    return owners;
  }

  // Also trusts those who can replace the core: the owners of all components of the path, and the
  // groups that may write to one. A checkout that another user owns, or whose directories its
  // group may write to, then works; a core in a directory of root adds nobody. No effect in an
  // elevated process, and if everybody may write to a component.
  //
  // directory  [in]   that the core was loaded from, without links
  void add_writers_of(const std::string& directory) {
    if (elevated || !directory.starts_with('/')) return;
    TrustedOwners more = *this;
    for (std::size_t end = 0; end != std::string::npos;) {
      end = directory.find('/', end + 1);
      struct stat about {};
      if (stat(directory.substr(0, end).c_str(), &about) != 0) return;
      if ((about.st_mode & S_IWOTH) != 0 && (about.st_mode & S_ISVTX) == 0) return;
      more.add_uid(about.st_uid);
      if ((about.st_mode & S_IWGRP) != 0 && (about.st_mode & S_ISVTX) == 0)
        more.gids.push_back(about.st_gid);
    }
    *this = std::move(more);
  }

  // sorted
  std::vector<uid_t> uids = {0};
  // whose members may write to directories and files
  std::vector<gid_t> gids;
  // for messages
  bool elevated = false;
  // what to do about an owner, for messages
  std::string_view remedy = ": change its owner";

 private:
  void add_uid(uid_t uid) {
    uids.push_back(uid);
    std::sort(uids.begin(), uids.end());
    uids.erase(std::unique(uids.begin(), uids.end()), uids.end());
  }
};

// Checks paths and remembers the components that passed: create one for each pass over files.
class Ownership {
 public:
  explicit Ownership(TrustedOwners trusted) : trusted_(std::move(trusted)) {}

  // Checks every component of the path, in the order in which the system resolves it: directories,
  // links, the directories of their targets, and the file. Each has a trusted owner. Directories
  // and the file are not writable by others, nor by a group that is not trusted. A sticky directory
  // such as /tmp may be writable, because others cannot replace entries of trusted owners there,
  // unless it contains the file itself: others could place libraries beside it. /dev/null, to which
  // masks lead, may have any owner and mode.
  //
  // file     [in]   absolute
  // returns  unavailable, reason PERMISSIONS, with the component, its owner and its mode; success
  //          for a path that does not exist, up to the part that exists: its reader reports it
  // thread   one at a time
  // costs    one lstat() for each component that has not passed before
  Status check(const std::string& file) {
    if (!file.starts_with('/')) {
      return refused(Message(file, " is relative, only absolute paths can be checked"));
    }
    const std::size_t slash = file.rfind('/');
    const std::string_view last = std::string_view(file).substr(slash + 1);
    const bool has_name = !last.empty() && last != "." && last != "..";
    std::vector<std::string> left;
    Resolved here;
    const auto known = has_name ? directories_.find(file.substr(0, slash)) : directories_.end();
    if (known != directories_.end()) {
      // Most files are in a directory of files that have passed, and are no links.
      here = known->second;
      if (!here.in_sticky) {
        GANTRY_TRY(const Passed* passed, check_component(concat(here.at, "/", last), file));
        if (passed == nullptr || passed->target.empty()) return {};
      }
      left.emplace_back(last);
    } else {
      push_names(file, left);
    }
    GANTRY_TRY(const Passed* root, check_component("/", file));
    if (known == directories_.end()) here.in_sticky = root != nullptr && root->is_sticky;
    auto& [at, in_sticky, links] = here;
    while (!left.empty()) {
      if (has_name && left.size() == 1) directories_.try_emplace(file.substr(0, slash), here);
      const std::string name = std::move(left.back());
      left.pop_back();
      if (name == "..") {
        at = at.empty() ? "" : at.substr(0, at.rfind('/'));
        GANTRY_TRY(const Passed* up, check_component(at.empty() ? "/" : at, file));
        in_sticky = up != nullptr && up->is_sticky;
        continue;
      }
      const std::string path = concat(at, "/", name);
      GANTRY_TRY(const Passed* passed, check_component(path, file));
      if (passed == nullptr) return {};
      if (in_sticky && left.empty() && !passed->is_directory) {
        return refused(
            Message("directory ", at.empty() ? "/" : at, ", which contains ", path,
                    ", is sticky and writable by others: move the file to a directory of "
                    "its owner"));
      }
      if (passed->target.empty()) {
        at = path;
        in_sticky = passed->is_sticky;
        continue;
      }
      if (++links > max_links) {
        return refused(Message(path, place(path, file), " is one of more than ", max_links,
                               " symbolic links"));
      }
      if (passed->target.starts_with('/')) {
        at.clear();
        in_sticky = root != nullptr && root->is_sticky;
      }
      push_names(passed->target, left);
    }
    return {};
  }

 private:
  // as the kernel's limit
  static constexpr int max_links = 40;

  // A directory that has passed.
  struct Resolved {
    // its path without links; "/" is empty
    std::string at;
    // it, or the directory of a link that leads to a file, is sticky
    bool in_sticky = false;
    // symbolic links on its path
    int links = 0;
  };
  // a component that has passed
  struct Passed {
    bool is_directory = false;
    bool is_sticky = false;
    // of a symbolic link; empty otherwise
    std::string target;
  };
  Result<const Passed*> check_component(const std::string& path, const std::string& file) {
    if (const auto known = passed_.find(path); known != passed_.end()) return &known->second;
    struct stat about {};
    if (lstat(path.c_str(), &about) != 0) {
      // The reader of the file reports that it does not exist.
      if (errno == ENOENT || errno == ENOTDIR) return nullptr;
      return system_failure(path, file, errno);
    }
    // In a container it may belong to another user, and what is written to it changes nothing.
    if (is_null_device(about)) return &passed_.emplace(path, Passed()).first->second;
    const auto& uids = trusted_.uids;
    if (std::find(uids.begin(), uids.end(), about.st_uid) == uids.end()) {
      return refused(Message(noun_of(about.st_mode), " ", path, place(path, file),
                             " is owned by uid ", about.st_uid, " (mode ", mode_text(about.st_mode),
                             "), trusted ", uids.size() == 1 ? "is uid " : "are uids ", join(uids),
                             trusted_.elevated ? " (this process is elevated)" : "",
                             trusted_.remedy));
    }
    const auto& gids = trusted_.gids;
    const bool is_group_trusted = std::find(gids.begin(), gids.end(), about.st_gid) != gids.end();
    const bool is_writable =
        (about.st_mode & S_IWOTH) != 0 || ((about.st_mode & S_IWGRP) != 0 && !is_group_trusted);
    Passed passed;
    passed.is_directory = S_ISDIR(about.st_mode);
    passed.is_sticky = passed.is_directory && (about.st_mode & S_ISVTX) != 0 && is_writable;
    if (S_ISLNK(about.st_mode)) {
      std::string target(PATH_MAX, '\0');
      const ssize_t size = readlink(path.c_str(), target.data(), target.size());
      if (size < 0) return system_failure(path, file, errno);
      target.resize(static_cast<std::size_t>(size));
      passed.target = std::move(target);
    } else if (is_writable && !passed.is_sticky) {
      return refused(Message(noun_of(about.st_mode), " ", path, place(path, file), " has mode ",
                             mode_text(about.st_mode), " (owner uid ", about.st_uid,
                             "), and others than its owner may write to it: chmod go-w it"));
    }
    return &passed_.emplace(path, std::move(passed)).first->second;
  }

  // "0775"
  static std::string mode_text(mode_t mode) {
    std::string text;
    for (int shift = 9; shift >= 0; shift -= 3)
      text += static_cast<char>('0' + ((mode >> shift) & 7u));
    return text;
  }

  static std::string_view noun_of(mode_t mode) {
    if (S_ISDIR(mode)) return "directory";
    return S_ISLNK(mode) ? "link" : "file";
  }

  // Where the component is in a check of `file`, if it is not the file itself.
  static std::string place(const std::string& component, const std::string& file) {
    return component == file ? "" : concat(", on the path of ", file, ",");
  }

  static Failure refused(Message text) {
    return unavailable(std::move(text)).with_reason("PERMISSIONS");
  }

  static Failure system_failure(const std::string& component, const std::string& file, int number) {
    return refused(Message(component, place(component, file),
                           " cannot be checked: ", std::generic_category().message(number)))
        .native("errno", number);
  }

  // Puts the names of a path before those that are left; the first one is last.
  static void push_names(std::string_view path, std::vector<std::string>& left) {
    std::vector<std::string> names;
    while (!path.empty()) {
      const std::size_t slash = std::min(path.find('/'), path.size());
      const std::string_view name = path.substr(0, slash);
      if (!name.empty() && name != ".") names.emplace_back(name);
      path.remove_prefix(std::min(slash + 1, path.size()));
    }
    left.insert(left.end(), names.rbegin(), names.rend());
  }

  TrustedOwners trusted_;
  std::unordered_map<std::string, Passed> passed_;
  // by the path as it is in a file's
  std::unordered_map<std::string, Resolved> directories_;
};

}  // namespace gantry
