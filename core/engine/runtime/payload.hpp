// SPDX-License-Identifier: Apache-2.0
//
// Loads payloads with the plugins that serve their type keys, during load or later.
#pragma once

#include "core/engine/module/module.hpp"
#include "core/engine/runtime/options.hpp"
#include "core/formats/entry.hpp"
#include "core/plugins/choice/plugin_set.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace gantry {

struct RuntimeState;

// Returns the loader of a type key that the plugin serves, or of its alias. Never NULL: a plugin
// without a loader for a key in its manifest is not opened.
const gantry_loader_table* loader_of(const ActivePlugin& server, std::string_view type_key);

// Returns ext_dev_of() the device on which the plugin's modules of a key run.
//
// server   [in]   serves the key
std::uint64_t ext_dev_of(const RuntimeState& state, const ActivePlugin& server,
                         std::string_view type_key);

// Loads payloads of one file and type key with the plugin that serves the key. Data that all of
// them share are looked up once.
class PayloadLoader {
 public:
  // server   [in]   serves the key
  // artifact [in]   of the file; must outlive the loader
  // type_key [in]   from the container, may be an alias; valid as long as the artifact
  PayloadLoader(RuntimeState& state, std::shared_ptr<const ActivePlugin> server,
                const Artifact& artifact, std::string_view type_key);

  // Binds a node to the module that the plugin creates from an entry's payload.
  //
  // returns  number of bytes consumed, which is the size if the payload's end is known; the
  //          plugin's own error; bug, reason BLOB_CONSUMED or MODULE_MISSING, if the plugin
  //          violates the ABI
  // thread   one at a time for each PayloadLoader; waits while the plugin loads another payload,
  //          unless its loader is parallel
  // costs    those of the plugin, and about 50 ns
  Result<std::uint64_t> load(const Entry& entry, ModuleNode& node);

  // Returns whether a device can run an entry: GANTRY_VERDICT_*. Compiles nothing.
  //
  // index    [in]   of the entry, for messages
  // device   [in]   index of a device of the loader's kind
  // returns  unsupported: the plugin has no check_binary; the plugin's own error; bug, reason
  //          VERDICT: the plugin returns another number
  // thread   any
  Result<std::int32_t> check(const Entry& entry, std::size_t index, std::int32_t device) const;

  // Name of the device on which the modules run; NULL: the host.
  const char* device_kind() const { return loader_->device; }

 private:
  std::string subject() const;
  // location  [in]   must outlive the blob
  gantry_blob blob_of(std::span<const std::uint8_t> bytes, bool exact,
                      std::string_view location) const;
  gantry_blob blob_of(const Entry& entry, std::string_view location) const;
  Result<std::uint64_t> load_binary(const gantry_blob& blob, ModuleNode& node);
  Result<const gantry_module_table*> copy_of(const gantry_module_table* table);

  RuntimeState* state_;
  std::shared_ptr<const ActivePlugin> server_;
  const Artifact* artifact_;
  std::string_view type_key_;
  // of the payload that is loaded
  EntryLocation location_;
  const gantry_loader_table* loader_;
  // The table that the plugin returned last, and its copy.
  std::pair<const gantry_module_table*, const gantry_module_table*> last_table_{};
};

// Binds the unbound modules that are reachable from `root` and for which a plugin is available now.
//
// root     [in]   root of its file
// options  [in]   of the load that requires the modules; as in a load, kernels of devices that the model
//                 does not use may stay unbound
// returns  the error of a payload that its plugin rejects; else unavailable, reason NO_PLUGIN, if
//          some modules stay unbound. The others are bound
// thread   any
Status bind_missing(RuntimeState& state, ModuleNode& root, const LoadPermissions& options);

}  // namespace gantry
