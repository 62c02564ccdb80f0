// SPDX-License-Identifier: Apache-2.0
//
// The object to which an artifact's `__tvm_module_ctx` points; its CPU code looks up functions
// there.
#pragma once

#include "core/engine/module/module.hpp"

#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

// Function handles are valid as long as this object, because CPU code stores them in static
// variables.
class LibraryContext {
 public:
  // own      [in]   the library's node; borrowed, it owns this object
  explicit LibraryContext(ModuleNode& own) : own_(own) {}

  // Extends the search to the modules that `root` reaches, as generations 1 and 2 do, except `own`
  // and the modules that reach it: a retained function of those would be a reference cycle.
  void add_root(ModuleNode& root);

  // Searches the imports of the library's node, then the modules of add_root(), then the globals,
  // and stores the result.
  //
  // returns  not_found, with the names of the modules that are not bound
  // lifetime borrowed; valid as long as this object
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

// TVMBackendGetFuncFromEnv. The function is borrowed, as from LibraryContext::find().
int get_function_from_context(void* context, const char* name, void** function);

}  // namespace gantry
