// SPDX-License-Identifier: Apache-2.0
//
// The beginning of a payload with one kernel, as v0.20 and older write it.
#pragma once

#include "tests/support/words.hpp"

#include <string_view>

namespace gantry::test {

// Returns the format and the table of a kernel of one handle and one axis. The code follows.
inline Words kernel_words(std::string_view format, std::string_view kernel) {
  return Words()
      .str(format)
      .u64(1)
      .str(kernel)
      .str("")
      .u64(1)
      .text("\x03\x40")
      .u8(1)
      .u8(0)
      .u64(1)
      .str("blockIdx.x");
}

}  // namespace gantry::test
