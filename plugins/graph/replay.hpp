// SPDX-License-Identifier: Apache-2.0
//
// The recording of an executor's run, and when it is valid.
#pragma once

#include <gantry/recorder.hpp>

#include <cstdint>
#include <memory>
#include <utility>

namespace gantry::graph {

struct Replay {
  explicit Replay(std::unique_ptr<Recorder> given) : recorder(std::move(given)) {}

  bool is_of(std::uint64_t current_moves) const { return recording && moves == current_moves; }

  const std::unique_ptr<Recorder> recorder;
  Recording recording;
  // Memory::moves() at the time of the recording.
  std::uint64_t moves = 0;
  // True after the first run, which is not recorded.
  bool is_warm = false;
};

}  // namespace gantry::graph
