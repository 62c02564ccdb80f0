// SPDX-License-Identifier: Apache-2.0
//
// Draws images of digits as text, with the network's result.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace gantry::demo {

// pixels on each side of an image
constexpr std::size_t side = 8;
constexpr std::size_t digits = 10;

// The network's result for one image.
struct Guess {
  std::size_t image;
  std::int64_t label;
  std::int64_t predicted;
  // of `predicted`, according to the network
  float probability;

  bool correct() const { return label == predicted; }
};

// Prints the first four images, and up to four others with wrong results.
//
// pixels   [in]   of all images, side * side each, 0 to 1
void draw(std::span<const Guess> guesses, std::span<const float> pixels);

}  // namespace gantry::demo
