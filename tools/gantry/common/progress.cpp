// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/common/progress.hpp"

#include "tools/gantry/common/human.hpp"

#include <gantry/result.hpp>

#include <algorithm>

namespace gantry::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds first_after{500};
constexpr milliseconds then_every{100};

}  // namespace

Progress::Progress(std::string label, std::uint64_t total, bool quiet, ProgressUnit unit)
    : label_(std::move(label)),
      total_(total),
      unit_(unit),
      line_(quiet),
      enabled_(line_.enabled() && total > 1),
      next_(steady_clock::now() + first_after) {}

void Progress::advance(std::uint64_t done) {
  done_ += done;
  if (!enabled_ || steady_clock::now() < next_) return;
  next_ = steady_clock::now() + then_every;
  line_.show(progress_text(label_, done_, total_, line_.width(), unit_));
}

std::string progress_text(std::string_view label, std::uint64_t done, std::uint64_t total,
                          int width, ProgressUnit unit) {
  constexpr int max_bar = 40;
  const std::string count = unit == ProgressUnit::steps
                                ? concat(" ", done, "/", total)
                                : concat(" ", human_size(done), "/", human_size(total));
  // 4: " [", "]" and one column before the terminal's edge
  const int available = width - static_cast<int>(label.size() + count.size()) - 4;
  if (available < 4)
    return concat(label, count).substr(0, static_cast<std::size_t>(std::max(width, 0)));
  const auto bar = static_cast<std::size_t>(std::min(available, max_bar));
  const double share =
      total == 0 ? 1 : static_cast<double>(std::min(done, total)) / static_cast<double>(total);
  const auto full = static_cast<std::size_t>(share * static_cast<double>(bar));
  return concat(label, " [", std::string(full, '#'), std::string(bar - full, ' '), "]", count);
}

}  // namespace gantry::cli
