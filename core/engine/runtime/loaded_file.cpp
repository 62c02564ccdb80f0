// SPDX-License-Identifier: Apache-2.0
#include "core/engine/runtime/loaded_file.hpp"

namespace gantry {

// The map's lock is held, so that no other thread can become an owner of the entry. If the map is
// the only owner, no thread is loading the file, and the entry's lock only makes the last load's
// result visible here.
bool LoadedFiles::is_released(const std::shared_ptr<File>& file) {
  if (file.use_count() != 1) return false;
  const std::lock_guard loading(file->loading);
  return file->root.expired();
}

Result<Ref<ModuleNode>> LoadedFiles::get(const Key& key,
                                         const std::function<Result<Ref<ModuleNode>>()>& load) {
  std::shared_ptr<File> entry;
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(files_, [](const auto& known) { return is_released(known.second); });
    std::shared_ptr<File>& known = files_[key];
    if (known == nullptr) known = std::make_shared<File>();
    entry = known;
  }
  const std::lock_guard loading(entry->loading);
  if (Ref<ModuleNode> root = entry->root.lock()) return root;
  GANTRY_TRY(Ref<ModuleNode> root, load());
  entry->root = WeakRef<ModuleNode>(root);
  return root;
}

}  // namespace gantry
