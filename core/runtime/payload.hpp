// SPDX-License-Identifier: Apache-2.0
//
// Loads payloads with the plugins that serve their type keys, at once or later.
#pragma once

#include "core/base/mapped_file.hpp"
#include "core/format/exporter_facts.hpp"
#include "core/module/module.hpp"
#include "core/plugin/plugin_set.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace gantry {

struct RuntimeState;

// The input of a loader. A placeholder keeps one, so that it can be bound when its plugin is
// installed.
struct Payload {
  std::shared_ptr<const MappedFile> file;
  // as in the container; may be an alias
  std::string type_key;
  // the payload, or everything up to the container's end
  std::span<const std::uint8_t> bytes;
  // bytes end where the payload does
  bool exact = true;
  // of the file
  ExporterFacts facts;
};

// The loader of a type key or of an alias in the plugin's manifest; NULL: the plugin has none.
const gantry_loader_table* loader_of(const ActivePlugin& server, std::string_view type_key);

// ext_dev_of() the kind of device that the plugin's modules of a key run on.
std::uint64_t ext_dev_of(const RuntimeState& state, const ActivePlugin& server,
                         std::string_view type_key);

// Makes modules of a file's payloads of one type key. What all of them share is looked up once.
class PayloadLoader {
 public:
  // like     [in]   any payload of the key and file
  // pin      [in]   keeps the bytes; a loader that needs them after the call retains it
  // returns  unavailable, reason KEY_NOT_OFFERED
  static Result<PayloadLoader> create(RuntimeState& state,
                                      std::shared_ptr<const ActivePlugin> server,
                                      const Payload& like, ObjectPtr pin);

  // Binds the node to the module that the loader makes of the bytes.
  //
  // exact    [in]   the bytes end where the payload does
  // returns  bytes consumed, all of them where `exact`; the loader's own error; bug, reason
  //          BLOB_CONSUMED or MODULE_MISSING, where the loader breaks its contract
  // thread   one at a time for each PayloadLoader; waits while the plugin loads another payload,
  //          unless its loader is parallel
  // costs    those of the plugin, and some 50 ns
  Result<std::uint64_t> load(std::span<const std::uint8_t> bytes, bool exact, ModuleNode& node);

 private:
  PayloadLoader(RuntimeState& state, std::shared_ptr<const ActivePlugin> server)
      : state_(&state), server_(std::move(server)) {}
  std::string subject() const;
  Result<const gantry_module_table*> copy_of(const gantry_module_table* table);

  RuntimeState* state_;
  std::shared_ptr<const ActivePlugin> server_;
  const gantry_loader_table* loader_ = nullptr;
  std::string type_key_, origin_;
  ExporterFacts facts_;
  ObjectPtr pin_;
  // The table that the loader returned last, and our copy of it.
  std::pair<const gantry_module_table*, const gantry_module_table*> last_table_{};
};

// The same for one payload.
Result<std::uint64_t> load_payload(RuntimeState& state, std::shared_ptr<const ActivePlugin> server,
                                   const Payload& payload, ObjectPtr pin, ModuleNode& node);

// Binds the placeholders below `root` for which a plugin is installed now.
//
// root     [in]   of its file
// subject  [in]   for messages: "model.so"
// returns  the error of a payload that its loader refuses; else unavailable, reason NO_PLUGIN,
//          where some stay unbound; the others are bound
// thread   any
Status bind_missing(RuntimeState& state, ModuleNode& root, const std::string& subject);

}  // namespace gantry
