// SPDX-License-Identifier: Apache-2.0
//
// Modules as objects: a plugin's (self, table) pair as a node of the import graph.
//
//     ModuleNode  --imports-->  ModuleNode ...        never a cycle
//     ModuleNode  --artifact--> Artifact              the file, and the runtime that loaded it
//     FunctionObject --parent--> ModuleNode           so a function keeps its module, and that its
//                                                     imports
//
// A node never keeps a function of its own: nothing would free that cycle.
#pragma once

#include "core/module/artifact.hpp"
#include "core/module/function.hpp"
#include "core/tensor/object.hpp"

#include <gantry/module.h>
#include <gantry/result.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

// Why a module has no pair, and the lock of those who bind it later.
struct Unbound {
  // in full; not changed by bind()
  std::string reason;
  std::mutex mutex;
};

// GANTRY_MODULE
struct ModuleNode {
  // index of a module that was made at run time
  static constexpr std::size_t kNoIndex = SIZE_MAX;

  gantry_object header;
  // Reset after the pair is destroyed.
  std::shared_ptr<const Artifact> artifact;
  // as in the container, whose bytes it lies in; of run-time modules the table's type_name
  std::string_view type_key;
  // into Artifact::container.entries, or kNoIndex
  std::size_t index = kNoIndex;
  // id of the plugin that made the pair, which the runtime keeps; empty: the core
  std::string_view plugin;
  // NULL: unbound; set once, after self, plugin and device_type
  std::atomic<const gantry_module_table*> table{nullptr};
  void* self = nullptr;
  // of run-time modules: the module whose imports they have; else NULL
  Ref<ModuleNode> parent;
  // fixed once linked
  std::vector<Ref<ModuleNode>> imports;
  // NULL: bound when it was made
  std::unique_ptr<Unbound> unbound;
  // The devices that ext_dev, 12, may be in its code: those of the modules that it reaches. See
  // core/native/device_numbers.hpp. Late ones are added; none is removed.
  std::atomic<std::uint64_t> ext_devs{0};
  // kind of device that its functions run on; 0: the host
  std::int32_t device_type = 0;
};

// A node without imports, not yet bound to a pair.
//
// artifact  [in]   not NULL
// type_key  [in]   lives as long as the artifact
// index     [in]   see ModuleNode::index
// returns   exhausted
Result<Ref<ModuleNode>> new_module_node(std::shared_ptr<const Artifact> artifact,
                                        std::string_view type_key, std::size_t index);

// Binds a pair, once; the node owns it then. On failure the caller keeps it.
//
// target   [in]   its table complete (see table_copy.hpp), static for the life of the process
// plugin   [in]   see ModuleNode::plugin
// device_type [in] see ModuleNode::device_type
// returns  invalid where the node is bound already
// thread   any for a node with `unbound`: a look-up on another thread finds the node unbound or
//          bound completely; other nodes are bound by the thread that makes them
Status bind(ModuleNode& node, const gantry_module& target, std::string_view plugin = {},
            std::int32_t device_type = 0);

// For messages: `entry 2 "cuda" of model.so`, `module "graph" made by acme.npu`.
std::string location_of(const ModuleNode& node);
// The same with the plugin of the pair: `entry 2 "cuda" of model.so (plugin acme.npu)`.
std::string described(const ModuleNode& node);

// True if functions of the node's table may be called: those of plugins not at the end of a
// process.
bool may_call(const ModuleNode& node);

}  // namespace gantry
