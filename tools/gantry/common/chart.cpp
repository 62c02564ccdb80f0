// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/common/chart.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

namespace gantry::cli {
namespace {

// eighths of a column
constexpr std::string_view parts[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"};
constexpr std::string_view heights[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr std::string_view shades[] = {" ", ".", ":", "-", "=", "+", "*", "#", "%", "@"};

}  // namespace

std::string bar_text(double share, int width, const Terminal& terminal) {
  const int steps = terminal.utf8 ? 8 : 1;
  const double given = std::isnan(share) ? 0 : std::clamp(share, 0.0, 1.0);
  int length = static_cast<int>(std::lround(given * width * steps));
  if (given > 0) length = std::max(length, 1);
  std::string bar;
  for (; length >= steps; length -= steps) bar += terminal.utf8 ? parts[8] : "#";
  return bar.append(parts[length]);
}

std::string levels_text(std::span<const std::size_t> counts, const Terminal& terminal) {
  const std::span<const std::string_view> levels =
      terminal.utf8 ? std::span<const std::string_view>(heights) : shades;
  const std::size_t most = counts.empty() ? 0 : std::ranges::max(counts);
  std::string text;
  for (const std::size_t count : counts) {
    // The largest count has the last level, any other that is not 0 at least the first one.
    const double share = most == 0 ? 0 : static_cast<double>(count) / static_cast<double>(most);
    text +=
        levels[static_cast<std::size_t>(std::ceil(share * static_cast<double>(levels.size() - 1)))];
  }
  return text;
}

}  // namespace gantry::cli
