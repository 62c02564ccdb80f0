// SPDX-License-Identifier: Apache-2.0
//
// Checks that only trusted users can change what a path leads to.
//
//     /opt/acme -> /srv/acme-2      each directory, each link and the file itself: owner and mode
//     /opt/acme/lib/libacme.so
#pragma once

#include <gantry/result.hpp>

#include <sys/types.h>

#include <string>
#include <unordered_map>
#include <vector>

namespace gantry {

// Whoever owns a component of a path can replace everything below it.
struct TrustedOwners {
  // Returns root and, unless the process is elevated, its effective user and `more`.
  static TrustedOwners of_process(bool elevated, const std::vector<uid_t>& more = {});

  // Also trusts those who can replace the core: the owners of all components of the path, and the
  // groups that may write to one. A checkout that another user owns, or whose directories its
  // group may write to, then works; a core in a directory of root adds nobody. No effect in an
  // elevated process, and if everybody may write to a component.
  //
  // directory  [in]   that the core was loaded from, without links
  void add_writers_of(const std::string& directory);

  std::vector<uid_t> uids = {0};
  // whose members may write to directories and files
  std::vector<gid_t> gids;
  // for messages
  bool elevated = false;
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
  Status check(const std::string& file);

 private:
  // a component that has passed
  struct Passed {
    bool is_directory = false;
    bool is_sticky = false;
    // of a symbolic link; empty otherwise
    std::string target;
  };
  Result<const Passed*> check_component(const std::string& path, const std::string& file);

  TrustedOwners trusted_;
  std::unordered_map<std::string, Passed> passed_;
};

}  // namespace gantry
