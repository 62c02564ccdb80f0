// SPDX-License-Identifier: Apache-2.0
//
// A bar on stderr for work that takes a while; nothing where stderr is no terminal.
#pragma once

#include "tools/gantry/common/terminal.hpp"

#include <chrono>
#include <cstdint>
#include <string>

namespace gantry::cli {

class Progress {
 public:
  // total    steps; shown from the first half second on, so that quick work flickers nothing
  Progress(std::string label, std::uint64_t total, bool quiet);
  // Wipes the bar.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void advance(std::uint64_t steps = 1);

 private:
  std::string label_;
  std::uint64_t total_;
  std::uint64_t done_ = 0;
  Terminal terminal_;
  bool enabled_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point next_;
};

// "label [#####     ] 12/24", exactly `width` columns or less.
std::string progress_text(std::string_view label, std::uint64_t done, std::uint64_t total,
                          int width);

}  // namespace gantry::cli
