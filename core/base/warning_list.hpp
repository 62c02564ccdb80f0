// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gantry/message.hpp>

#include <cstddef>
#include <vector>

namespace gantry {

// The warnings of a report. A hostile file can cause one for each of its modules, so the list keeps
// the first `max` warnings and counts the rest.
class WarningList {
 public:
  static constexpr std::size_t max = 1000;

  void add(Message text);
  // Returns the warnings and clears the list. If more than `max` were added, a last one has the
  // number of those left out.
  std::vector<Message> take();

 private:
  std::vector<Message> kept_;
  std::size_t left_out_ = 0;
};

}  // namespace gantry
