// SPDX-License-Identifier: Apache-2.0
//
// Assertions about the result of a run with a fault.
#pragma once

#include "tests/faults/scene.hpp"

#include <gtest/gtest.h>

namespace gantry::test {

// Expects one error, status 1, and no changed or additional file.
inline void expect_refused(const Scene& scene, const Ending& run) {
  EXPECT_EQ(run.status, 1) << run.err;
  EXPECT_TRUE(is_one_error(run.err)) << run.err;
  EXPECT_TRUE(scene.is_untouched()) << scene.listing();
  EXPECT_TRUE(scene.has_nothing_else()) << scene.listing();
}

}  // namespace gantry::test
