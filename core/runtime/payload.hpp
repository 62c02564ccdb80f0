// SPDX-License-Identifier: Apache-2.0
//
// One payload on its way to the loader that serves its type key, now or later.
#pragma once

#include "core/elf/mapped_file.hpp"
#include "core/module/module.hpp"
#include "core/plugin/plugin_set.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace gantry {

struct RuntimeState;

// What a loader is told. A placeholder keeps one, so that it can be bound when its plugin is there.
struct Payload {
  std::shared_ptr<const MappedFile> file;
  std::string type_key;                 // as in the container, be it an alias
  std::span<const std::uint8_t> bytes;  // exactly the payload, or as far as it could go
  bool exact = true;                    // bytes end where it does
  std::int32_t generation = -1;         // 0 to 5, -1 unknown
};

// Binds the node to what the loader makes of the payload.
//
// pin      [in]   keeps the bytes; loaders that want them longer retain it
// returns  bytes consumed, all of them where `exact`; the loader's own error; bug, reason BLOB_CONSUMED or
//          MODULE_MISSING, where it breaks its word
// thread   any; waits while the plugin loads another, unless its loader is parallel
Result<std::uint64_t> load_payload(RuntimeState& state, const ActivePlugin& server, const Payload& payload,
                                   gantry_object* pin, ModuleNode& node);

// Serves the placeholders below `root` for which a plugin is there by now.
//
// subject  [in]   for messages: "model.so"
// returns  the error of a payload that its loader refuses; else unavailable, reason NO_PLUGIN, where some stay
//          unbound; others are bound nevertheless
// thread   any
Status bind_missing(RuntimeState& state, ModuleNode& root, const std::string& subject);

}  // namespace gantry
