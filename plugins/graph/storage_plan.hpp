// SPDX-License-Identifier: Apache-2.0
//
// Which entries share which memory, and which of them are the same value.
//
//     slot    memory that the compiler's planner gave to entries which are never alive together, and to reshapes
//     value   one entry with its reshapes: what is bound to other memory must be bound for all of them, and only
//             for them; the rest of the slot goes on using the slot
#pragma once

#include "core/format/graph_json.hpp"

#include <span>

namespace gantry::graph {

struct Slot {
  // -1: of one entry that shares with none
  std::int64_t storage_id = 0;
  gantry_device_id device{};
  // largest of its entries
  std::uint64_t bytes = 0;
  // by a call or a copy
  bool written = false;
};

struct StoredValue {
  std::uint32_t slot = 0;
  // how many of its entries come from outside
  std::uint32_t inputs = 0;
  // empty: became part of another value
  std::vector<std::uint32_t> entries;
};

struct StoragePlan {
  std::vector<Slot> slots;
  std::vector<StoredValue> values;
  // by entry
  std::vector<std::uint32_t> value_of;

  const Slot& slot_of(std::uint32_t entry) const { return slots[values[value_of[entry]].slot]; }
};

// Plans the memory of one executor.
//
// devices  [in]   by entry
// returns  MALFORMED    entries of one slot lie on different devices
//          UNSUPPORTED  a texture scope
// costs    O(n log n) of entries and edges
Result<StoragePlan> plan_storage(const Graph& graph, std::span<const gantry_device_id> devices);

}  // namespace gantry::graph
