// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/mapped_file.hpp"
#include "core/engine/module/module.hpp"

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace gantry {

// The files that a runtime has loaded. Loading a file again returns the same module while its root
// is alive (core/decisions/0002-one-file-loaded-twice.md).
class LoadedFiles {
 public:
  struct Key {
    // device and inode are not reused while the artifact maps the file
    FileIdentity file;
    // of a system library; else empty
    std::string prefix;
    auto operator<=>(const Key&) const = default;
  };

  // Returns the root of the file's import graph if it is alive, otherwise the result of `load`.
  //
  // load     [in]   called at most once, while a lock for this file is held
  // thread   any; waits while another thread loads the same file
  Result<Ref<ModuleNode>> get(const Key& key, const std::function<Result<Ref<ModuleNode>>()>& load);

 private:
  struct File {
    // held while the file is loaded; guards root
    std::mutex loading;
    WeakRef<ModuleNode> root;
  };

  static bool is_released(const std::shared_ptr<File>& file);

  std::mutex mutex_;
  std::map<Key, std::shared_ptr<File>> files_;
};

}  // namespace gantry
