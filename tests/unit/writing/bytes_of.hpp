// SPDX-License-Identifier: Apache-2.0
//
// Writes Pieces to memory.
#pragma once

#include "core/writing/pieces.hpp"

#include <dmlc/memory_io.h>
#include <gtest/gtest.h>

namespace gantry::test {

inline std::vector<std::uint8_t> bytes_of(const Pieces& pieces) {
  std::string text;
  dmlc::MemoryStringStream stream(&text);
  const Status written = pieces.write_to(stream);
  EXPECT_TRUE(written.ok()) << written.error().message;
  return {text.begin(), text.end()};
}

}  // namespace gantry::test
