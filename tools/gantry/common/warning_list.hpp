// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace gantry::cli {

// The warnings of a report. A hostile file makes one for each of its modules: the first ones are kept and the rest is
// counted.
class WarningList {
 public:
  static constexpr std::size_t max = 1000;

  void add(std::string text);
  // What was added; where that is more than `most`, the last one says how many are left out.
  std::vector<std::string> take();

 private:
  std::vector<std::string> kept_;
  std::size_t left_out_ = 0;
};

}  // namespace gantry::cli
