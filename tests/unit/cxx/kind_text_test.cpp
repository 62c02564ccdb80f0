// SPDX-License-Identifier: Apache-2.0
#include <gantry/kind_text.hpp>

#include <gtest/gtest.h>

namespace gantry {
namespace {

TEST(KindText, HasOneNameForAllForms) {
  for (const std::int32_t kind : {GANTRY_CSTRING, GANTRY_SMALL_STRING, GANTRY_STRING}) {
    EXPECT_EQ(kind_text(kind), "a string") << kind;
  }
  EXPECT_EQ(kind_text(GANTRY_TENSOR_REF), kind_text(GANTRY_TENSOR));
}

TEST(KindText, ShowsTheNumberOfAnUnknownKind) { EXPECT_EQ(kind_text(99), "of kind 99"); }

}  // namespace
}  // namespace gantry
