// SPDX-License-Identifier: Apache-2.0
//
// What a disturbed program owes, said to GoogleTest.
#pragma once

#include "tests/faults/scene.hpp"

#include <gtest/gtest.h>

namespace gantry::test {

// Refused with one clear error, and everything as it was.
inline void expect_refused(const Scene& scene, const Ending& run) {
  EXPECT_EQ(run.status, 1) << run.err;
  EXPECT_TRUE(tells_one_error(run.err)) << run.err;
  EXPECT_TRUE(scene.is_untouched()) << scene.listing();
  EXPECT_TRUE(scene.has_nothing_else()) << scene.listing();
}

}  // namespace gantry::test
