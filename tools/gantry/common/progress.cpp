// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/common/progress.hpp"

#include <gantry/result.hpp>

#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace gantry::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds first_after{500};
constexpr milliseconds then_every{100};

}  // namespace

Progress::Progress(std::string label, std::uint64_t total, bool quiet)
    : label_(std::move(label)),
      total_(total),
      terminal_(terminal_of(STDERR_FILENO)),
      enabled_(terminal_.present && !quiet && total > 1),
      next_(steady_clock::now() + first_after) {}

Progress::~Progress() {
  if (shown_) std::fputs("\r\x1b[K", stderr);
}

void Progress::advance(std::uint64_t steps) {
  done_ += steps;
  if (!enabled_ || steady_clock::now() < next_) return;
  shown_ = true;
  next_ = steady_clock::now() + then_every;
  std::fprintf(stderr, "\r%s", progress_text(label_, done_, total_, terminal_.width).c_str());
}

std::string progress_text(std::string_view label, std::uint64_t done, std::uint64_t total,
                          int width) {
  constexpr int most_bar = 40;
  const std::string count = concat(" ", done, "/", total);
  const int room =
      width - static_cast<int>(label.size() + count.size()) - 4;  // " [" "]" and the edge
  if (room < 4) return concat(label, count).substr(0, static_cast<std::size_t>(std::max(width, 0)));
  const auto bar = static_cast<std::size_t>(std::min(room, most_bar));
  const auto full =
      total == 0 ? bar : static_cast<std::size_t>(std::min(done, total) * bar / total);
  return concat(label, " [", std::string(full, '#'), std::string(bar - full, ' '), "]", count);
}

}  // namespace gantry::cli
