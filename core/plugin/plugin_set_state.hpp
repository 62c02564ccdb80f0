// SPDX-License-Identifier: Apache-2.0
//
// The state that plugin_set.cpp (choosing and opening) and plugin_set_list.cpp (listing and
// inspecting) share.
#pragma once

#include "core/plugin/plugin_set.hpp"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace gantry {

// True for a candidate that was stopped before it could be tried, for example because it has no
// valid manifest. One that failed later is tried again, because the cause may be gone.
inline bool is_out(const Candidate& candidate) {
  return candidate.stopped() && candidate.state < CandidateState::eligible;
}

// One candidate and its plugin, if it is in use.
struct Slot {
  Candidate candidate;
  // of a plugin that is part of the program
  decltype(&gantry_plugin_query_v1) query = nullptr;
  bool opening = false;
  std::thread::id opener;
  std::shared_ptr<const ActivePlugin> active;
};

struct PluginSet::State {
  // guards all but load_mutex; never held while a plugin's code runs
  mutable std::mutex mutex;
  // notified when an opening ends
  std::condition_variable settled;
  // held during dlopen and query
  std::mutex load_mutex;
  // only grows: indices and addresses stay valid
  std::deque<Slot> slots;
  // indices of the active ones, in the order in which their creation ended
  std::vector<std::size_t> created;
  std::atomic<std::uint64_t> fallbacks{0};
};

}  // namespace gantry
