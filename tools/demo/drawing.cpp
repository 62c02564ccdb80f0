// SPDX-License-Identifier: Apache-2.0
#include "tools/demo/drawing.hpp"

#include <gantry/result.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

namespace gantry::demo {
namespace {

constexpr std::size_t in_a_row = 4;

// Without the blanks at its end.
void print_line(std::string line) {
  const bool has_space_below = line.ends_with('\n');
  line.erase(line.find_last_not_of(" \n") + 1);
  std::printf("%s\n%s", line.c_str(), has_space_below ? "\n" : "");
}

void draw_row(std::span<const Guess> row, std::span<const float> pixels) {
  constexpr std::string_view ink = " .:-=+*#%@";
  constexpr std::size_t width = 2 * side + 3;
  for (std::size_t y = 0; y < side; ++y) {
    std::string line = "  ";
    for (const Guess& guess : row) {
      for (std::size_t x = 0; x < side; ++x) {
        const float value = pixels[guess.image * side * side + y * side + x];
        const auto shade = static_cast<std::size_t>(std::clamp(value, 0.0f, 1.0f) * 9);
        line.append(2, ink[shade]);
      }
      line.append("   ");
    }
    print_line(line);
  }
  std::string line = "  ";
  for (const Guess& guess : row) {
    std::string text = concat(guess.predicted, ", ", std::lround(100 * guess.probability), " %");
    if (!guess.correct()) text += concat(" (is ", guess.label, ")");
    text.resize(std::max(text.size(), width), ' ');
    line += text;
  }
  print_line(line + "\n");
}

}  // namespace

void draw(std::span<const Guess> guesses, std::span<const float> pixels) {
  std::printf("The first images, and the first with wrong results:\n\n");
  const std::size_t first = std::min(in_a_row, guesses.size());
  draw_row(guesses.first(first), pixels);
  std::vector<Guess> wrong;
  for (const Guess& guess : guesses.subspan(first)) {
    if (!guess.correct() && wrong.size() < in_a_row) wrong.push_back(guess);
  }
  if (!wrong.empty()) draw_row(wrong, pixels);
}

}  // namespace gantry::demo
