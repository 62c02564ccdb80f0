// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/mapped_file.hpp"
#include "core/module/module.hpp"

#include <functional>
#include <map>
#include <memory>
#include <mutex>

namespace gantry {

// The files that a runtime has loaded: a file that is loaded again is the same module while its
// root lives (core/decisions/0002).
class LoadedFiles {
 public:
  // Returns the root of the file's import graph: the living one, else what `load` returns.
  //
  // file     identified by device and inode, which the mapping that its artifact keeps reserves
  // load     called at most once, under a lock of this file alone
  // thread   any; waits while another thread loads the same file
  Result<Ref<ModuleNode>> get(const MappedFile& file,
                              const std::function<Result<Ref<ModuleNode>>()>& load);

 private:
  struct File {
    // held while the file is loaded; guards root
    std::mutex loading;
    WeakRef<ModuleNode> root;
  };

  std::mutex mutex_;
  std::map<FileIdentity, std::shared_ptr<File>> files_;
};

}  // namespace gantry
