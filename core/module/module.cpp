// SPDX-License-Identifier: Apache-2.0
#include "core/module/module.hpp"

#include "core/base/process_end.hpp"
#include "core/tensor/device_set.hpp"

#include <gantry/quoted.hpp>

#include <algorithm>
#include <bit>
#include <new>

namespace gantry {
namespace {

// Releases one strong reference. The caller for whom it returns true held the last and ends the object.
bool release_strong(gantry_object& object) {
  const auto before = std::atomic_ref(object.counts).fetch_sub(1, std::memory_order_acq_rel);
  return (before & UINT32_MAX) == 1;
}

// Releases the weak reference of the strong ones. The caller for whom it returns true frees the memory.
bool release_weak(gantry_object& object) {
  constexpr std::uint64_t one = std::uint64_t{1} << 32;
  return std::atomic_ref(object.counts).fetch_sub(one, std::memory_order_acq_rel) >> 32 == 1;
}

void free_node(void* node) { ::operator delete(node, sizeof(ModuleNode)); }

// Ends what the node owns but its imports: the pair while its imports and pins live, then the pins,
// last first.
void finish(ModuleNode& node) {
  if (const auto* table = node.table.load(std::memory_order_acquire)) table->destroy(node.self);
  while (!node.pins.empty()) node.pins.pop_back();
}

// Ends a node and every import that nobody else holds. A chain may be as long as a file says, so the
// dead wait in a list, linked through `self`, which a finished node no longer needs: no recursion, no
// allocation.
void end_node(ModuleNode& root) {
  const NoCancellation guard;
  finish(root);
  root.self = nullptr;
  for (ModuleNode* dead = &root; dead != nullptr;) {
    ModuleNode* const node = dead;
    dead = static_cast<ModuleNode*>(node->self);
    for (Ref<ModuleNode>& import : node->imports) {
      ModuleNode* child = import.take();
      if (child == nullptr || !release_strong(child->header)) continue;
      finish(*child);
      child->self = dead;
      dead = child;
    }
    node->~ModuleNode();
    if (node != &root && release_weak(node->header)) free_node(node);
  }
}

// At the end of a process nothing of a plugin is called: its objects are left to the system.
void delete_node(void* object, std::int32_t flags) {
  if (!plugins_may_run()) return;
  if ((flags & GANTRY_DELETE_CONTENT) != 0) end_node(*static_cast<ModuleNode*>(object));
  if ((flags & GANTRY_DELETE_MEMORY) != 0) free_node(object);
}

void delete_function(void* object, std::int32_t flags) {
  if (!plugins_may_run()) return;
  if ((flags & GANTRY_DELETE_CONTENT) != 0) {
    const NoCancellation guard;
    const gantry_function& target = static_cast<FunctionObject*>(object)->target;
    if (GANTRY_HAS(target.table, destroy) && target.table->destroy)
      target.table->destroy(target.self);
  }
  delete_object<FunctionObject>(object, flags);
}

}  // namespace

Status GlobalFunctions::add(std::string name, Ref<FunctionObject> function) {
  const std::lock_guard lock(mutex_);
  const auto taken = std::any_of(functions_.begin(), functions_.end(),
                                 [&](const auto& entry) { return entry.first == name; });
  if (taken) return invalid("global function ", quoted(name), " is there already");
  functions_.emplace_back(std::move(name), std::move(function));
  return {};
}

Ref<FunctionObject> GlobalFunctions::find(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  for (const auto& [known, function] : functions_) {
    if (known == name) return function;
  }
  return {};
}

std::vector<std::string> GlobalFunctions::names() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> all;
  all.reserve(functions_.size());
  for (const auto& entry : functions_) all.push_back(entry.first);
  return all;
}

bool may_call(const ModuleNode& node) { return plugins_may_run() || node.plugin.empty(); }

std::string described(const ModuleNode& node) {
  return node.plugin.empty() ? node.location : concat(node.location, " (plugin ", node.plugin, ")");
}

std::string described(const FunctionObject& function) {
  return function.parent ? concat("a function of ", described(*function.parent))
                         : std::string("a global function");
}

Result<Ref<ModuleNode>> new_module_node(std::string type_key, std::string location) {
  auto* node = new (std::nothrow) ModuleNode;
  if (node == nullptr) return exhausted("module ", quoted(type_key), ": no memory for its node");
  node->header = fresh_header(GANTRY_MODULE, delete_node);
  node->type_key = std::move(type_key);
  node->location = std::move(location);
  return Ref<ModuleNode>::adopt(node);
}

Status bind(ModuleNode& node, const gantry_module& target, std::string plugin,
            std::int32_t device_type) {
  const std::lock_guard lock(node.bind_mutex);
  if (node.table.load(std::memory_order_relaxed) != nullptr) {
    return invalid(node.location, " is bound already");
  }
  node.plugin = std::move(plugin);
  node.device_type = device_type;
  node.self = target.self;
  node.table.store(target.table, std::memory_order_release);
  return {};
}

Result<Ref<FunctionObject>> new_function(const gantry_function& target, Ref<ModuleNode> parent,
                                         std::int32_t device_type, Pin pin) {
  if (target.table == nullptr || !GANTRY_HAS(target.table, call) || target.table->call == nullptr) {
    return bug(parent ? described(*parent) : std::string("a global"),
               " gives a function without `call`")
        .with_reason("TABLE_INCOMPLETE");
  }
  auto* function = new (std::nothrow) FunctionObject;
  if (function == nullptr) return exhausted("no memory for a function object");
  function->header = fresh_header(GANTRY_FUNCTION, delete_function);
  function->target = target;
  function->device_type = device_type;
  function->parent = std::move(parent);
  function->pin = std::move(pin);
  return Ref<FunctionObject>::adopt(function);
}

std::uint64_t ext_dev_bit(std::int32_t type) {
  if (type == kExtDev) return kExtDevItself;
  return type >= kFirstAssignedType && type < kDeviceTypeCount - 1
             ? std::uint64_t{1} << (type - kFirstAssignedType)
             : 0;
}

std::int32_t to_runtime(const ModuleNode& node, std::int32_t number) {
  for (const auto& [artifact, runtime] : node.device_numbers) {
    if (artifact == number) return runtime;
  }
  const std::uint64_t ext = node.ext_devs.load(std::memory_order_relaxed);
  if (number == kExtDev && std::has_single_bit(ext) && ext != kExtDevItself)
    return kFirstAssignedType + std::countr_zero(ext);
  return number;
}

std::int32_t to_artifact(const ModuleNode& node, std::int32_t type) {
  for (const auto& [artifact, runtime] : node.device_numbers) {
    if (runtime == type) return artifact;
  }
  const std::uint64_t ext = node.ext_devs.load(std::memory_order_relaxed);
  return (ext & ext_dev_bit(type)) != 0 ? kExtDev : type;
}

}  // namespace gantry
