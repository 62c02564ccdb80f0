// SPDX-License-Identifier: Apache-2.0
//
// One payload on its way to the loader that serves its type key, now or later.
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

// What a loader is told. A placeholder keeps one, so that it can be bound when its plugin is there.
struct Payload {
  std::shared_ptr<const MappedFile> file;
  // as in the container, be it an alias
  std::string type_key;
  // exactly the payload, or as far as it could go
  std::span<const std::uint8_t> bytes;
  // bytes end where it does
  bool exact = true;
  // of the file
  ExporterFacts facts;
};

// What a plugin loads a type key with, be it an alias of its manifest; NULL: it has no loader for it.
const gantry_loader_table* loader_of(const ActivePlugin& server, std::string_view type_key);

// ext_dev_of() the kind of device that the server's modules of a key run on.
std::uint64_t ext_dev_of(const RuntimeState& state, const ActivePlugin& server,
                         std::string_view type_key);

// One type key's way from a file's payloads to modules: what is the same for all of them is found once.
class PayloadLoader {
 public:
  // like     [in]   any payload of the key and file
  // pin      [in]   keeps the bytes; loaders that want them longer retain it
  // returns  unavailable, reason KEY_NOT_OFFERED
  static Result<PayloadLoader> create(RuntimeState& state,
                                      std::shared_ptr<const ActivePlugin> server,
                                      const Payload& like, ObjectPtr pin);

  // Binds the node to what the loader makes of the bytes.
  //
  // exact    [in]   the bytes end where the payload does
  // returns  bytes consumed, all of them where `exact`; the loader's own error; bug, reason BLOB_CONSUMED or
  //          MODULE_MISSING, where it breaks its word
  // thread   one at a time for each PayloadLoader; waits while the plugin loads another, unless its loader is parallel
  // costs    what the plugin costs, and some 50 ns
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
  // The last table that was handed over, and our copy of it.
  std::pair<const gantry_module_table*, const gantry_module_table*> last_table_{};
};

// The same for one payload.
Result<std::uint64_t> load_payload(RuntimeState& state, std::shared_ptr<const ActivePlugin> server,
                                   const Payload& payload, ObjectPtr pin, ModuleNode& node);

// Serves the placeholders below `root` for which a plugin is there by now.
//
// root     [in]   of its file
// subject  [in]   for messages: "model.so"
// returns  the error of a payload that its loader refuses; else unavailable, reason NO_PLUGIN, where some stay
//          unbound; others are bound nevertheless
// thread   any
Status bind_missing(RuntimeState& state, ModuleNode& root, const std::string& subject);

}  // namespace gantry
