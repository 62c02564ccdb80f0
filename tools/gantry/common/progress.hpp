// SPDX-License-Identifier: Apache-2.0
//
// A bar on stderr for work that takes a while; nothing where stderr is no terminal.
#pragma once

#include "tools/gantry/common/status_line.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace gantry::cli {

enum class ProgressUnit { steps, bytes };

class Progress {
 public:
  // total    shown from the first half second on, so that quick work flickers nothing
  Progress(std::string label, std::uint64_t total, bool quiet,
           ProgressUnit unit = ProgressUnit::steps);

  void advance(std::uint64_t done = 1);

 private:
  std::string label_;
  std::uint64_t total_;
  ProgressUnit unit_;
  std::uint64_t done_ = 0;
  StatusLine line_;
  bool enabled_;
  std::chrono::steady_clock::time_point next_;
};

// "label [#####     ] 12/24" or "label [#####     ] 1.5 GiB/3.0 GiB", less than `width` columns where that is enough.
std::string progress_text(std::string_view label, std::uint64_t done, std::uint64_t total,
                          int width, ProgressUnit unit = ProgressUnit::steps);

}  // namespace gantry::cli
