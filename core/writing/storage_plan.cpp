// SPDX-License-Identifier: Apache-2.0
#include "core/writing/storage_plan.hpp"

#include <algorithm>

namespace gantry {
namespace {

struct Slot {
  std::uint64_t bytes;
  // the last operator that uses it
  std::size_t busy_until;
  bool shared;
};

bool is_free(const Slot& slot, std::size_t at) { return slot.shared && slot.busy_until < at; }

// Returns the smallest free slot that is large enough, else the largest free slot, which has to
// grow least; NULL if no slot is free.
Slot* best_free(std::vector<Slot>& slots, const TensorLife& tensor) {
  Slot* best = nullptr;
  for (Slot& slot : slots) {
    if (!is_free(slot, tensor.first)) continue;
    if (best == nullptr) {
      best = &slot;
      continue;
    }
    const bool fits = slot.bytes >= tensor.bytes;
    const bool best_fits = best->bytes >= tensor.bytes;
    if (fits != best_fits ? fits : fits == (slot.bytes < best->bytes)) best = &slot;
  }
  return best;
}

}  // namespace

std::vector<std::size_t> plan_storage(std::span<const TensorLife> tensors) {
  std::vector<Slot> slots;
  std::vector<std::size_t> slot_of;
  for (const TensorLife& tensor : tensors) {
    Slot* slot = tensor.shared ? best_free(slots, tensor) : nullptr;
    if (slot == nullptr) slot = &slots.emplace_back(Slot{0, 0, tensor.shared});
    slot->bytes = std::max(slot->bytes, tensor.bytes);
    slot->busy_until = tensor.last;
    slot_of.push_back(static_cast<std::size_t>(slot - slots.data()));
  }
  return slot_of;
}

}  // namespace gantry
