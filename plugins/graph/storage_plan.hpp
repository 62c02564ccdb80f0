// SPDX-License-Identifier: Apache-2.0
//
// The assignment of entries to slots of memory and to values.
//
//     slot    memory that the compiler's planner assigned to entries that are never alive together,
//             and to reshapes
//     value   an entry and its reshapes, which are bound to other memory together; other entries of
//             the slot are not affected
#pragma once

#include "core/formats/graph_json.hpp"

#include <span>

namespace gantry::graph {

struct Slot {
  // -1: the slot of a single entry.
  std::int64_t storage_id = 0;
  gantry_device_id device{};
  // Bytes of its largest entry.
  std::uint64_t bytes = 0;
  // True: a call or a copy writes it.
  bool written = false;
};

struct StoredValue {
  std::uint32_t slot = 0;
  // Number of its entries that are inputs.
  std::uint32_t inputs = 0;
  // Empty: merged into another value.
  std::vector<std::uint32_t> entries;
};

struct StoragePlan {
  std::vector<Slot> slots;
  std::vector<StoredValue> values;
  // Indexed by entry.
  std::vector<std::uint32_t> value_of;

  const Slot& slot_of(std::uint32_t entry) const { return slots[values[value_of[entry]].slot]; }
};

// Plans the memory of one executor.
//
// devices  [in]   indexed by entry
// returns  MALFORMED    entries of one slot are on different devices
//          UNSUPPORTED  a texture scope
// costs    O(n log n) of entries and edges
Result<StoragePlan> plan_storage(const Graph& graph, std::span<const gantry_device_id> devices);

}  // namespace gantry::graph
