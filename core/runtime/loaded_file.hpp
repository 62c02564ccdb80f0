// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/mapped_file.hpp"
#include "core/module/module.hpp"

#include <functional>
#include <map>
#include <memory>
#include <mutex>

namespace gantry {

// The files that a runtime has loaded. Loading a file again returns the same module while its root
// is alive (core/decisions/0002-one-file-loaded-twice.md).
class LoadedFiles {
 public:
  // Returns the root of the file's import graph if it is alive, otherwise the result of `load`.
  //
  // file     [in]   identified by device and inode, which are not reused while its artifact maps it
  // load     [in]   called at most once, while a lock for this file is held
  // thread   any; waits while another thread loads the same file
  Result<Ref<ModuleNode>> get(const MappedFile& file,
                              const std::function<Result<Ref<ModuleNode>>()>& load);

 private:
  struct File {
    // held while the file is loaded; guards root
    std::mutex loading;
    WeakRef<ModuleNode> root;
  };

  static bool is_released(const std::shared_ptr<File>& file);

  std::mutex mutex_;
  std::map<FileIdentity, std::shared_ptr<File>> files_;
};

}  // namespace gantry
