// SPDX-License-Identifier: Apache-2.0
//
// What plugin_set.cpp (choosing and opening) and plugin_set_list.cpp (listing and judging) share.
#pragma once

#include "core/plugin/plugin_set.hpp"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace gantry {

// Stopped before it could be tried; a later failure may have passed.
inline bool is_out(const Candidate& candidate) {
  return candidate.stopped() && candidate.state < CandidateState::eligible;
}

// One entry for each candidate.
struct Slot {
  explicit Slot(Candidate& found) : candidate(found) {}
  explicit Slot(decltype(&gantry_plugin_query_v1) program)
      : own(std::make_unique<Candidate>()), candidate(*own), query(program) {}

  // of the program's own
  std::unique_ptr<Candidate> own;
  // that, or one of State::merge
  Candidate& candidate;
  // of the program's own
  decltype(&gantry_plugin_query_v1) query = nullptr;
  bool opening = false;
  std::thread::id opener;
  std::shared_ptr<const ActivePlugin> active;
};

struct PluginSet::State {
  State(const SearchResult& found, const std::vector<PluginFilter>& filters)
      : merge(found, filters) {}

  // guards all but load_mutex; never held while a plugin's code runs
  mutable std::mutex mutex;
  // an opening ended
  std::condition_variable settled;
  // held during dlopen and query
  std::mutex load_mutex;
  Merge merge;
  // words that were asked for
  std::set<std::string, std::less<>> known;
  // only grows: an index that somebody holds stays good
  std::vector<std::unique_ptr<Slot>> slots;
  std::size_t fallbacks = 0;
};

}  // namespace gantry
