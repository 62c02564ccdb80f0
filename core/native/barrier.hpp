// SPDX-License-Identifier: Apache-2.0
//
// The barrier of one parallel launch. A task that ends no longer counts, so one that fails before
// the barrier does not hang those that wait in it.
#pragma once

#include "core/native/signal.hpp"

#include <atomic>
#include <cstdint>

namespace gantry {

class Barrier {
 public:
  // Precondition: nobody is in arrive() or leave().
  void reset(std::uint32_t members, std::uint32_t spins) {
    state_.store(members, std::memory_order_relaxed);
    spins_ = spins;
  }

  // Waits until every member that has not left is here.
  void arrive() {
    // cannot move on before this thread arrives
    const std::uint32_t phase = phase_.value();
    if (update([](State s) { return State{s.arrived + 1, s.members}; })) {
      phase_.raise();
    } else {
      phase_.wait_past(phase, spins_);
    }
  }

  // This thread comes no more.
  void leave() {
    if (update([](State s) { return State{s.arrived, s.members - 1}; })) phase_.raise();
  }

 private:
  struct State {
    std::uint32_t arrived, members;
  };

  // Returns whether everybody is here now; then the count begins anew.
  template <class Change>
  bool update(Change change) {
    std::uint64_t before = state_.load(std::memory_order_relaxed);
    for (;;) {
      State next =
          change({static_cast<std::uint32_t>(before >> 32), static_cast<std::uint32_t>(before)});
      const bool complete = next.members != 0 && next.arrived == next.members;
      if (complete) next.arrived = 0;
      const std::uint64_t after = (std::uint64_t{next.arrived} << 32) | next.members;
      if (state_.compare_exchange_weak(before, after, std::memory_order_acq_rel)) return complete;
    }
  }

  // arrived above, members below
  std::atomic<std::uint64_t> state_{0};
  Signal phase_;
  std::uint32_t spins_ = 0;
};

}  // namespace gantry
