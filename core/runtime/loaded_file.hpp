// SPDX-License-Identifier: Apache-2.0
//
// The files that a runtime has loaded: the same file again is the same module while its root lives (decision 2).
#pragma once

#include "core/base/mapped_file.hpp"
#include "core/module/module.hpp"

#include <functional>
#include <map>
#include <memory>
#include <mutex>

namespace gantry {

class LoadedFiles {
 public:
  // The root of the file's module graph: the one that lives, else the one that `load` makes.
  //
  // file     kept while the root lives: its device and inode name it, and a file that nobody holds gives its inode to
  //          the next one
  // load     called at most once, without a lock that another file's load would want
  // thread   any; who asks for a file that is being loaded waits
  Result<Ref<ModuleNode>> get(std::shared_ptr<const MappedFile> file,
                              const std::function<Result<Ref<ModuleNode>>()>& load);

 private:
  // One file. `root` is borrowed: a pin in the root's node takes it back before the node goes.
  struct Slot {
    // held by who loads
    std::mutex loading;
    // guards root
    std::mutex mutex;
    ModuleNode* root = nullptr;
  };
  class Ticket;

  std::mutex mutex_;
  // a slot lives while a load or a root holds it
  std::map<FileIdentity, std::weak_ptr<Slot>> slots_;
};

}  // namespace gantry
