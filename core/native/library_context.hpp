// SPDX-License-Identifier: Apache-2.0
//
// What an artifact's `__tvm_module_ctx` points to: where its host code looks functions up.
#pragma once

#include "core/module/module.hpp"

#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

// Handles that host code got stay good as long as this, for it keeps them in static variables.
class LibraryContext {
 public:
  // own      [in]   the library's node; borrowed, it owns this
  explicit LibraryContext(ModuleNode& own) : own_(own) {}

  // Widens the search to what `root` reaches, as generation 2 has it, but for `own` and modules
  // that reach it: to keep a function of those would be a loop that nothing frees.
  void add_root(ModuleNode& root);

  // Imports of the library's node, then what add_root() gave, then the globals. The answer is kept.
  //
  // returns  not_found where nobody has it, naming modules that are not bound
  // lifetime borrowed: as long as this
  // thread   any
  Result<FunctionObject*> find(std::string_view name);

 private:
  struct Found {
    FunctionObject* function;
    Ref<FunctionObject> keeper;
  };
  Result<Found> look_up(std::string_view name) const;

  ModuleNode& own_;
  std::vector<Ref<ModuleNode>> siblings_;
  std::mutex mutex_;
  std::map<std::string, Found, std::less<>> found_;
};

// TVMBackendGetFuncFromEnv. The function is borrowed, as find() lends it.
int get_function_from_context(void* context, const char* name, void** function);

}  // namespace gantry
