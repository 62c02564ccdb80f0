// SPDX-License-Identifier: Apache-2.0
//
// Loads payloads with the plugins that serve their type keys, at once or later.
#pragma once

#include "core/format/entry.hpp"
#include "core/module/module.hpp"
#include "core/plugin/plugin_set.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace gantry {

struct RuntimeState;

// The loader of a type key or of an alias in the plugin's manifest; NULL: the plugin has none.
const gantry_loader_table* loader_of(const ActivePlugin& server, std::string_view type_key);

// ext_dev_of() the kind of device that the plugin's modules of a key run on.
std::uint64_t ext_dev_of(const RuntimeState& state, const ActivePlugin& server,
                         std::string_view type_key);

// Loads payloads of one file and type key with the plugin that serves the key. What all of them
// share is looked up once.
class PayloadLoader {
 public:
  // artifact [in]   of the file; outlives the loader
  // type_key [in]   as in the container: may be an alias; lives as long as the artifact
  // returns  unavailable, reason KEY_NOT_OFFERED
  static Result<PayloadLoader> create(RuntimeState& state,
                                      std::shared_ptr<const ActivePlugin> server,
                                      const Artifact& artifact, std::string_view type_key);

  // Binds a node to the module that the plugin makes of an entry's payload.
  //
  // returns  bytes consumed, all of them where the payload's end is known; the plugin's own error; bug, reason
  //          BLOB_CONSUMED or MODULE_MISSING, where the plugin breaks its contract
  // thread   one at a time for each PayloadLoader; waits while the plugin loads another payload,
  //          unless its loader is parallel
  // costs    those of the plugin, and some 50 ns
  Result<std::uint64_t> load(const Entry& entry, ModuleNode& node);

  // Returns whether a device can run an entry: GANTRY_VERDICT_*. Compiles nothing.
  //
  // index    [in]   of the entry, for messages
  // device   [in]   index of a device of the loader's kind
  // returns  unsupported: the plugin offers no check_binary; the plugin's own error; bug, reason
  //          VERDICT, for any other number
  // thread   any
  Result<std::int32_t> check(const Entry& entry, std::size_t index, std::int32_t device) const;

  // The kind of device that the modules run on; NULL: the host.
  const char* device_kind() const { return loader_->device; }

 private:
  PayloadLoader(RuntimeState& state, std::shared_ptr<const ActivePlugin> server,
                const Artifact& artifact, std::string_view type_key)
      : state_(&state), server_(std::move(server)), artifact_(&artifact), type_key_(type_key) {}
  std::string subject() const;
  // location  [in]   outlives the blob
  gantry_blob blob_of(std::span<const std::uint8_t> bytes, bool exact,
                      std::string_view location) const;
  gantry_blob blob_of(const Entry& entry, std::string_view location) const;
  Result<std::uint64_t> load_binary(const gantry_blob& blob, ModuleNode& node);
  Result<const gantry_module_table*> copy_of(const gantry_module_table* table);

  RuntimeState* state_;
  std::shared_ptr<const ActivePlugin> server_;
  const Artifact* artifact_;
  std::string_view type_key_;
  const gantry_loader_table* loader_ = nullptr;
  // The table that the plugin returned last, and our copy of it.
  std::pair<const gantry_module_table*, const gantry_module_table*> last_table_{};
};

// Binds the placeholders below `root` for which a plugin is installed now.
//
// root     [in]   of its file
// returns  the error of a payload that its plugin refuses; else unavailable, reason NO_PLUGIN,
//          where some stay unbound; the others are bound
// thread   any
Status bind_missing(RuntimeState& state, ModuleNode& root);

}  // namespace gantry
