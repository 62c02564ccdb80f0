// SPDX-License-Identifier: Apache-2.0
#include "core/engine/native/library_context.hpp"

#include "core/engine/module/global_functions.hpp"
#include "core/engine/module/module_graph.hpp"
#include "core/engine/native/context.hpp"

#include <gantry/quoted.hpp>

#include <algorithm>
#include <new>
#include <unordered_map>
#include <unordered_set>

namespace gantry {
namespace {

// Returns `own` and those of `nodes` from which it can be reached.
std::unordered_set<const ModuleNode*> ancestors(const std::vector<ModuleNode*>& nodes,
                                                const ModuleNode& own) {
  std::unordered_map<const ModuleNode*, std::vector<const ModuleNode*>> parents;
  for (const ModuleNode* node : nodes) {
    for (const auto& import : node->imports) parents[import.get()].push_back(node);
  }
  std::unordered_set<const ModuleNode*> above{&own};
  std::vector<const ModuleNode*> open{&own};
  while (!open.empty()) {
    const ModuleNode* node = open.back();
    open.pop_back();
    for (const ModuleNode* parent : parents[node]) {
      if (above.insert(parent).second) open.push_back(parent);
    }
  }
  return above;
}

}  // namespace

void LibraryContext::add_root(ModuleNode& root) {
  const std::vector<ModuleNode*> nodes = reachable(root);
  const auto above = ancestors(nodes, own_);
  std::unordered_set<const ModuleNode*> searched;
  for (ModuleNode* node : reachable(own_)) searched.insert(node);
  for (ModuleNode* node : nodes) {
    if (!above.contains(node) && !searched.contains(node))
      siblings_.push_back(Ref<ModuleNode>::share(node));
  }
}

Result<LibraryContext::Found> LibraryContext::look_up(std::string_view name) const {
  auto found = find_function(own_, GANTRY_FIND_IMPORTS, name);
  if (found.ok()) return Found{found->get(), *found};
  if (found.error().code != Code::not_found) return std::move(found).error();
  Error missing = std::move(found).error();
  for (const auto& sibling : siblings_) {
    auto beside = find_function(*sibling, GANTRY_FIND_SELF, name);
    if (beside.ok()) return Found{beside->get(), *beside};
    if (beside.error().code != Code::not_found) return std::move(beside).error();
    if (!beside.error().reason.empty()) missing = std::move(beside).error();
  }
  // Globals are not retained: a global may be a function of this library, which would be a
  // reference cycle, and globals live as long as the runtime.
  const HostServices* services = here().call->owner.services;
  const GlobalFunctions* globals =
      services ? services->globals.get() : own_.artifact->globals.get();
  if (globals != nullptr) {
    if (const Ref<FunctionObject> global = globals->find(name)) return Found{global.get(), {}};
    GANTRY_TRY(const Ref<FunctionObject> offered, globals->find_offered(name));
    if (offered) return Found{offered.get(), offered};
  }
  return missing;
}

Result<FunctionObject*> LibraryContext::find(std::string_view name) {
  {
    const std::lock_guard lock(mutex_);
    const auto known = found_.find(name);
    if (known != found_.end()) return known->second.function;
  }
  // The lock is not held, because a module's look-up may call find() again. If two threads find the
  // function, the result of the first is stored.
  GANTRY_TRY(Found found, look_up(name));
  const std::lock_guard lock(mutex_);
  return found_.try_emplace(std::string(name), std::move(found)).first->second.function;
}

int get_function_from_context(void* context, const char* name, void** function) {
  try {
    if (context == nullptr) {
      return fail_here(bug("function ", quoted(std::string_view(name)),
                           " is looked up by CPU code whose module context is not set"));
    }
    auto found = static_cast<LibraryContext*>(context)->find(name);
    if (!found.ok()) {
      return fail_here(std::move(found).failure().at("while CPU code looks up ",
                                                     quoted(std::string_view(name))));
    }
    *function = *found;
    return 0;
  } catch (const std::bad_alloc&) {
    return fail_here(exhausted("out of memory"));
  }
}

}  // namespace gantry
