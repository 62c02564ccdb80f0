// SPDX-License-Identifier: Apache-2.0
//
// The tasks of one parallel launch, and the barrier at which they wait for each other. A task that
// has ended is no longer counted, so a task that fails before the barrier does not block the tasks
// that wait in it.
#pragma once

#include "core/engine/native/waitable_counter.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace gantry {

class Barrier {
 public:
  static constexpr std::uint32_t kMaxMembers = 0xffff;
  // A member that has not arrived by then probably has no CPU: on a busy machine it gets one sooner
  // from a thread that sleeps than from one that yields, and a launch may have many barriers.
  static constexpr std::chrono::nanoseconds arrival_window = std::chrono::microseconds(50);

  // limits   [in]   of waits until all members have left; borrowed. The window of waits in arrive()
  //                 is at most arrival_window
  explicit Barrier(const SpinLimits& limits)
      : limits_(limits),
        arrival_limits_{std::min(limits.window, arrival_window), limits.max_spinning} {}

  // Precondition: no thread is in another function.
  //
  // members  [in]   1 to kMaxMembers
  void reset(std::uint32_t members) { state_.reset(members); }

  // Waits until every member that has not left has arrived.
  void arrive() {
    // does not change before this thread arrives
    const std::uint32_t phase = phase_.value();
    if (!end_phase_if_complete(state_.add(kArrival)))
      phase_.wait_until([&](std::uint32_t now) { return now != phase; }, arrival_limits_);
  }

  // Removes the calling thread from the members.
  void leave() {
    const std::uint32_t state = state_.add(-kMember);
    if (members(state) == 0) {
      state_.wake();
    } else {
      end_phase_if_complete(state);
    }
  }

  // Waits until every member has left. Writes before leave() are visible afterwards.
  void wait_until_empty() {
    state_.wait_until([](std::uint32_t state) { return members(state) == 0; }, limits_);
  }

 private:
  // high half of the state: arrived; low half: members
  static constexpr std::uint32_t kMember = 1, kArrival = kMaxMembers + 1;
  static std::uint32_t members(std::uint32_t state) { return state % kArrival; }

  // Returns true if all members have arrived: no other thread then changes the state.
  bool end_phase_if_complete(std::uint32_t state) {
    if (state / kArrival != members(state)) return false;
    state_.add(-members(state) * kArrival);
    phase_.add(1);
    phase_.wake();
    return true;
  }

  const SpinLimits& limits_;
  const SpinLimits arrival_limits_;
  WaitableCounter state_;
  WaitableCounter phase_;
};

}  // namespace gantry
