// SPDX-License-Identifier: Apache-2.0
//
// The barrier of one parallel launch. A task that has ended is no longer counted, so a task that
// fails before the barrier does not block the tasks that wait in it.
#pragma once

#include "core/native/signal.hpp"

#include <atomic>
#include <cstdint>

namespace gantry {

class Barrier {
 public:
  // Precondition: no thread is in arrive() or leave().
  void reset(std::uint32_t members, std::uint32_t spins) {
    state_.store(members, std::memory_order_relaxed);
    spins_ = spins;
  }

  // Waits until every member that has not left has arrived.
  void arrive() {
    // does not change before this thread arrives
    const std::uint32_t phase = phase_.value();
    if (update([](State s) { return State{s.arrived + 1, s.members}; })) {
      phase_.raise();
    } else {
      phase_.wait_past(phase, spins_);
    }
  }

  // Removes the calling thread from the members.
  void leave() {
    if (update([](State s) { return State{s.arrived, s.members - 1}; })) phase_.raise();
  }

 private:
  struct State {
    std::uint32_t arrived, members;
  };

  // Returns true if the change completes the barrier; the count of arrived members is then reset.
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

  // high half: arrived, low half: members
  std::atomic<std::uint64_t> state_{0};
  Signal phase_;
  std::uint32_t spins_ = 0;
};

}  // namespace gantry
