// SPDX-License-Identifier: Apache-2.0
#include "core/formats/entry.hpp"

#include <gtest/gtest.h>

namespace gantry {
namespace {

TEST(EntryLocation, NamesEachEntry) {
  EntryLocation location("bench\n", "model.so");

  EXPECT_EQ(location.of(10'000), "entry 10000 \"bench\\n\" of model.so");
  EXPECT_EQ(location.of(0), "entry 0 \"bench\\n\" of model.so");
  EXPECT_EQ(location.of(SIZE_MAX), "entry 18446744073709551615 \"bench\\n\" of model.so");
  EXPECT_EQ(location_of_entry(7, "bench\n", "model.so"), "entry 7 \"bench\\n\" of model.so");
}

}  // namespace
}  // namespace gantry
