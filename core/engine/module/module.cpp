// SPDX-License-Identifier: Apache-2.0
#include "core/engine/module/module.hpp"

#include "core/base/call_destroy.hpp"
#include "core/base/process_end.hpp"
#include "core/formats/stream_sink.hpp"

#include <gantry/abi_boundary.hpp>
#include <gantry/quoted.hpp>

#include <new>

namespace gantry {
namespace {

// Releases one strong reference. Returns true if it was the last one; the caller then destroys the
// object.
bool release_strong(gantry_object& object) {
  const auto before = std::atomic_ref(object.counts).fetch_sub(1, std::memory_order_acq_rel);
  return (before & UINT32_MAX) == 1;
}

void free_node(void* node) { ::operator delete(node, sizeof(ModuleNode)); }

// Destroys what the node owns except its imports: the pair first, the artifact last, because the
// parent or the artifact may be the last owner of the runtime.
void finish(ModuleNode& node) {
  if (const auto* table = node.table.load(std::memory_order_acquire))
    call_destroy("a module", [&] { table->destroy(node.self); });
  node.parent = {};
  node.artifact.reset();
}

// Destroys a node and every import without another reference. A file determines how long a chain of
// imports is, so this neither recurses nor allocates: finished nodes form a list that is linked
// through `self`, which they no longer need.
void end_node(ModuleNode& root) {
  const NoCancellation guard;
  finish(root);
  root.self = nullptr;
  for (ModuleNode* dead = &root; dead != nullptr;) {
    ModuleNode* const node = dead;
    dead = static_cast<ModuleNode*>(node->self);
    for (Ref<ModuleNode>& import : node->imports) {
      ModuleNode* child = import.take();
      if (!release_strong(child->header)) continue;
      finish(*child);
      child->self = dead;
      dead = child;
    }
    node->~ModuleNode();
    if (node != &root && release_weak(node->header)) free_node(node);
  }
}

// No code of a plugin is called while the process ends; its objects are not freed then.
void delete_node(void* object, std::int32_t flags) {
  if (!plugins_may_run()) return;
  if ((flags & GANTRY_DELETE_CONTENT) != 0) end_node(*static_cast<ModuleNode*>(object));
  if ((flags & GANTRY_DELETE_MEMORY) != 0) free_node(object);
}

// Empty while the node is unbound, because bind() may be writing it on another thread.
std::string_view plugin_of(const ModuleNode& node) {
  return node.table.load(std::memory_order_acquire) != nullptr ? node.plugin : std::string_view();
}

}  // namespace

bool may_call(const ModuleNode& node) { return plugins_may_run() || plugin_of(node).empty(); }

std::string location_of(const ModuleNode& node) {
  if (node.index != ModuleNode::kNoIndex)
    return location_of_entry(node.index, node.type_key, node.artifact->name);
  std::string location = concat("module ", quoted(node.type_key));
  const std::string_view plugin = plugin_of(node);
  return plugin.empty() ? location : concat(location, " made by ", plugin);
}

std::string described(const ModuleNode& node) {
  std::string location = location_of(node);
  const std::string_view plugin = plugin_of(node);
  if (plugin.empty() || node.index == ModuleNode::kNoIndex) return location;
  return concat(location, " (plugin ", plugin, ")");
}

bool is_own_module(const gantry_object& object) {
  void (*const deleter)(void*, std::int32_t) = delete_node;
  return object.deleter == deleter;
}

Result<Ref<ModuleNode>> new_module_node(std::shared_ptr<const Artifact> artifact,
                                        std::string_view type_key, std::size_t index) {
  auto* node = new (std::nothrow) ModuleNode;
  if (node == nullptr) return exhausted("module ", quoted(type_key), ": no memory for its node");
  node->header = fresh_header(GANTRY_MODULE, delete_node);
  node->artifact = std::move(artifact);
  node->type_key = type_key;
  node->index = index;
  return Ref<ModuleNode>::adopt(node);
}

Status bind(ModuleNode& node, const gantry_module& target, std::string_view plugin,
            std::int32_t device_type) {
  std::unique_lock<std::mutex> lock;
  if (node.unbound != nullptr) lock = std::unique_lock(node.unbound->mutex);
  if (node.table.load(std::memory_order_relaxed) != nullptr)
    return invalid(location_of(node), " is bound already");
  node.plugin = plugin;
  node.device_type = device_type;
  node.self = target.self;
  node.table.store(target.table, std::memory_order_release);
  return {};
}

Status save_payload(const ModuleNode& module, dmlc::Stream& out, std::uint64_t position) {
  const gantry_module_table* const table = module.table.load();
  if (table == nullptr)
    return unsupported(location_of(module), " has no plugin that could save it");
  const StreamSink sink(out, position);
  StatusBuffer status;
  const gantry_code code = status.call(
      [&](gantry_status* failure) { return table->save_binary(module.self, sink.raw(), failure); });
  if (code == GANTRY_OK) return {};
  return status.error(code, "save_binary").at("while saving ", described(module));
}

}  // namespace gantry
