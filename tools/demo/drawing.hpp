// SPDX-License-Identifier: Apache-2.0
//
// Images of digits as text, with what they were taken for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace gantry::demo {

// pixels of an image
constexpr std::size_t side = 8;
constexpr std::size_t digits = 10;

// What the network says about one image.
struct Guess {
  std::size_t image;
  // the label
  std::int64_t is;
  std::int64_t taken_for;
  // of that, by the network
  float probability;

  bool right() const { return is == taken_for; }
};

// Prints the first four, and four more that are wrong.
//
// pixels   [in]   of all images, side * side each, 0 to 1
void draw(std::span<const Guess> guesses, std::span<const float> pixels);

}  // namespace gantry::demo
