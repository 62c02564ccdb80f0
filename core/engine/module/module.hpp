// SPDX-License-Identifier: Apache-2.0
//
// Module objects: the (self, table) pair of a plugin as a node of the import graph.
//
//     ModuleNode  --imports-->  ModuleNode ...        never a cycle
//     ModuleNode  --artifact--> Artifact              the file, and the runtime that loaded it
//     FunctionObject --parent--> ModuleNode           a function keeps its module and imports alive
//
// A node never keeps one of its own functions, because that cycle would never be freed.
#pragma once

#include "core/engine/module/artifact.hpp"
#include "core/engine/module/function.hpp"
#include "core/engine/tensor/object.hpp"

#include <gantry/module.h>
#include <gantry/result.hpp>

#include <dmlc/io.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

// Why a module has no pair, and the lock for binding it later.
struct Unbound {
  // full text; not changed by bind()
  std::string reason;
  // Kernels of a device that the model does not use, by what was known when they were loaded.
  std::atomic<bool> is_left_out{false};
  std::mutex mutex;
};

// GANTRY_MODULE
struct ModuleNode {
  // index of a module that was created at run time
  static constexpr std::size_t kNoIndex = SIZE_MAX;

  gantry_object header;
  // Reset after the pair is destroyed.
  std::shared_ptr<const Artifact> artifact;
  // a view of the container's bytes; for run-time modules the table's type_name
  std::string_view type_key;
  // index into Artifact::container.entries, or kNoIndex
  std::size_t index = kNoIndex;
  // id of the plugin that created the pair, owned by the runtime; empty: the core
  std::string_view plugin;
  // NULL: unbound; set once, after self, plugin and device_type
  std::atomic<const gantry_module_table*> table{nullptr};
  void* self = nullptr;
  // for run-time modules: the module whose imports they share; else NULL
  Ref<ModuleNode> parent;
  // fixed once linked
  std::vector<Ref<ModuleNode>> imports;
  // NULL: bound when it was created
  std::unique_ptr<Unbound> unbound;
  // The devices that ext_dev (12) may mean in its code: those of the modules that it reaches. See
  // core/engine/native/device_numbers.hpp. Bits are only added, also after load.
  std::atomic<std::uint64_t> ext_devs{0};
  // device type on which its functions run; 0: the host
  std::int32_t device_type = 0;
};

// Creates a node without imports that is not bound to a pair yet.
//
// artifact  [in]   not NULL
// type_key  [in]   valid as long as the artifact
// index     [in]   see ModuleNode::index
// returns   exhausted
Result<Ref<ModuleNode>> new_module_node(std::shared_ptr<const Artifact> artifact,
                                        std::string_view type_key, std::size_t index);

// True for an object of new_module_node(): code of tvm-ffi has modules of its own, of the same kind.
bool is_own_module(const gantry_object& object);

// Binds a node to a pair, once. The node then owns the pair; after a failure the caller still owns
// it.
//
// target   [in]   with a complete table (see table_copy.hpp), valid for the life of the process
// plugin   [in]   see ModuleNode::plugin
// device_type [in] see ModuleNode::device_type
// returns  invalid if the node is already bound
// thread   any for a node with `unbound`: a look-up on another thread finds the node either unbound
//          or completely bound. Other nodes are bound by the thread that creates them
Status bind(ModuleNode& node, const gantry_module& target, std::string_view plugin = {},
            std::int32_t device_type = 0);

// For messages: `entry 2 "cuda" of model.so`, `module "graph" made by acme.npu`.
std::string location_of(const ModuleNode& node);
// Also names the plugin of the pair: `entry 2 "cuda" of model.so (plugin acme.npu)`.
std::string described(const ModuleNode& node);

// True if functions of the node's table may be called. Those of plugins may not be called while the
// process ends.
bool may_call(const ModuleNode& node);

// Writes what a module's save_binary writes.
//
// position [in]   offset of the payload's first byte in the file
// returns  unsupported  the module has no plugin, or its plugin cannot save it
//          the error of the plugin
Status save_payload(const ModuleNode& module, dmlc::Stream& out, std::uint64_t position = 0);

}  // namespace gantry
