// SPDX-License-Identifier: Apache-2.0
//
// Modules and functions as objects: a plugin's (self, table) pair with a place in the import graph.
//
//     ModuleNode  --imports-->  ModuleNode ...        never a cycle
//     FunctionObject --parent--> ModuleNode           so a function keeps its module, and that its imports
//
// Lifetime: a node keeps its imports, its pins (library, mapping, plugin, runtime) and destroys its pair once.
// A node never keeps a function of its own: that would be a loop that nothing frees.
#pragma once

#include "core/module/pin.hpp"
#include "core/tensor/object.hpp"

#include <gantry/module.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace gantry {

class GlobalFunctions;
class TraceRecorder;
struct ModuleNode;

// tvm-ffi's function cell stands directly behind the header, so that the `ffi` dialect can call it.
// GANTRY_FUNCTION
struct FunctionObject {
  gantry_object header;
  // ffi dialect; NULL until it is offered
  void* safe_call = nullptr;
  void* cpp_call = nullptr;
  // owned: destroyed once
  gantry_function target{};
  // kind of device it runs on (the loader's `device`); 0: the host, env passes unchanged
  std::int32_t device_type = 0;
  // NULL for globals
  Ref<ModuleNode> parent;
  // what a global's code needs; empty for a module's
  Pin pin;
};

// GANTRY_MODULE
struct ModuleNode {
  gantry_object header;
  // as in the container; for run-time modules the table's type_name
  std::string type_key;
  // "entry 2 \"cuda\" of model.so", for messages
  std::string location;
  // id of the plugin that made the pair; empty: the core
  std::string plugin;
  // NULL: unbound; set once, after self
  std::atomic<const gantry_module_table*> table{nullptr};
  void* self = nullptr;
  // given to its functions; set before table
  std::int32_t device_type = 0;
  // fixed once linked
  std::vector<Ref<ModuleNode>> imports;
  // released after self is destroyed, last first
  std::vector<Pin> pins;
  // of the runtime
  std::shared_ptr<const GlobalFunctions> globals;
  // the runtime's, which a pin keeps; NULL: calls are not recorded
  TraceRecorder* trace = nullptr;
  // while unbound: why, in full
  std::string unbound_reason;
  // of a placeholder: what its maker needs to bind it later
  Pin unbound_payload;
  std::mutex bind_mutex;

  // Device numbers of the artifact that differ from the runtime's; empty: none does (nearly always).
  // (artifact's, runtime's)
  std::vector<std::pair<std::int32_t, std::int32_t>> device_numbers;
  // The devices that ext_dev, 12, may be to its code: those of the modules that it reaches. A bit for each type from
  // kFirstAssignedType on, the highest for a device that is called ext_dev. They come, late ones too, and do not go.
  std::atomic<std::uint64_t> ext_devs{0};
};

// The functions of a runtime that belong to no module: __tvm_set_device and what the embedder adds.
class GlobalFunctions {
 public:
  // invalid where the name is taken.
  Status add(std::string name, Ref<FunctionObject> function);
  // NULL where there is none.
  Ref<FunctionObject> find(std::string_view name) const;
  std::vector<std::string> names() const;

 private:
  mutable std::mutex mutex_;
  std::vector<std::pair<std::string, Ref<FunctionObject>>> functions_;
};

// Who is at work in a node, for messages about its pair: "entry 2 \"cuda\" of model.so (plugin acme.npu)".
std::string described(const ModuleNode& node);
// True if functions of the node's table may be called: those of plugins not at the end of a process.
bool may_call(const ModuleNode& node);
// "a function of entry 2 ..."
std::string described(const FunctionObject& function);

// A node without imports, not yet bound to a pair. exhausted when memory is.
Result<Ref<ModuleNode>> new_module_node(std::string type_key, std::string location);

// Binds a pair, once: from now on the node owns it (on failure the caller keeps it).
//
// target   [in]   its table complete (see table_copy.hpp), static for the life of the process
// plugin   [in]   whose it is, for messages; empty: the core's
// device_type [in] kind of device that its functions run on; 0: the host
// returns  invalid where the node is bound already
// thread   any; a look-up on another thread sees the node unbound or bound, nothing between
Status bind(ModuleNode& node, const gantry_module& target, std::string plugin = {},
            std::int32_t device_type = 0);

// A function object that owns `target` and keeps `parent`. On failure the caller keeps target.
Result<Ref<FunctionObject>> new_function(const gantry_function& target, Ref<ModuleNode> parent,
                                         std::int32_t device_type, Pin pin = {});

// The bit of a device type in ModuleNode::ext_devs; 0: artifacts have a number of its own for it. The last type, 127, is
// not translated: its bit is that of a device called ext_dev.
constexpr std::uint64_t kExtDevItself = std::uint64_t{1} << 63;
std::uint64_t ext_dev_bit(std::int32_t type);

// Does its artifact count a device otherwise than the runtime?
inline bool counts_otherwise(const ModuleNode& node) {
  return !node.device_numbers.empty() || node.ext_devs.load(std::memory_order_relaxed) != 0;
}

// The artifact's number of a device in the runtime's, and back; numbers without an entry are the same, and so is 12
// where it may be several devices (host code for which it may is refused: core/native/device_numbers.hpp).
std::int32_t to_runtime(const ModuleNode& node, std::int32_t number);
std::int32_t to_artifact(const ModuleNode& node, std::int32_t type);

}  // namespace gantry
