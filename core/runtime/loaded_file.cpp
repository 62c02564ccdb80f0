// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/loaded_file.hpp"

namespace gantry {

Result<Ref<ModuleNode>> LoadedFiles::get(const MappedFile& file,
                                         const std::function<Result<Ref<ModuleNode>>()>& load) {
  std::shared_ptr<File> entry;
  {
    const std::lock_guard lock(mutex_);
    // If the map is the only owner, no thread is loading the file.
    std::erase_if(files_, [](const auto& known) {
      return known.second.use_count() == 1 && known.second->root.expired();
    });
    std::shared_ptr<File>& known = files_[file.identity()];
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
