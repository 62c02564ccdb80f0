// SPDX-License-Identifier: Apache-2.0
#include "core/base/warning_list.hpp"

#include <utility>

namespace gantry {

void WarningList::add(Message text) {
  if (kept_.size() < max) {
    kept_.push_back(std::move(text));
  } else {
    ++left_out_;
  }
}

std::vector<Message> WarningList::take() {
  if (left_out_ != 0) kept_.push_back(Message("and ", left_out_, " more warnings"));
  left_out_ = 0;
  return std::exchange(kept_, {});
}

}  // namespace gantry
