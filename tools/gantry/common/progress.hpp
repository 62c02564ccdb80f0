// SPDX-License-Identifier: Apache-2.0
//
// A progress bar on stderr for long operations; disabled if stderr is not a terminal.
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
  // The bar appears after half a second, so that short operations show none.
  //
  // total    steps or bytes; no bar is shown for one
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

// "label [#####     ] 12/24" or "label [#####     ] 1.5 GiB/3.0 GiB", shorter than `width` columns.
// Without the bar, and truncated, if `width` is too small.
std::string progress_text(std::string_view label, std::uint64_t done, std::uint64_t total,
                          int width, ProgressUnit unit = ProgressUnit::steps);

}  // namespace gantry::cli
