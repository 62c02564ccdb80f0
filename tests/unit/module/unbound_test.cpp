// SPDX-License-Identifier: Apache-2.0
#include "core/engine/module/unbound.hpp"

#include "tests/unit/module/fake_module.hpp"

#include <gtest/gtest.h>

namespace gantry {
namespace {

TEST(Unbound, ReportsWhatIsMissingAndWhy) {
  const auto node = std::move(new_unbound_node(test::artifact_of({"_lib", "cuda"}), "cuda", 1,
                                               "no plugin serves it"))
                        .value();

  const Error error = unbound_error(*node);

  EXPECT_TRUE(is_unbound(*node));
  EXPECT_EQ(node->type_key, "cuda");
  EXPECT_EQ(error.code, Code::unavailable);
  EXPECT_EQ(error.reason, "MODULE_UNBOUND");
  EXPECT_EQ(error.message, "entry 1 \"cuda\" of model.so is not bound: no plugin serves it");
}

TEST(Unbound, CanBeBoundLater) {
  const auto node = test::unbound_node("late", "not yet");

  ASSERT_TRUE(
      bind(*node, {new test::FakeModule{"late", {{"f", 6}}}, test::fake_module_table()}).ok());

  EXPECT_FALSE(is_unbound(*node));
  const auto found = find_function(*node, GANTRY_FIND_SELF, "f");
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(call(**found, nullptr, {})->get().i, 6);
}

TEST(Unbound, IsReleasedWithoutAPair) {
  auto node = test::unbound_node("cuda", "why");
  node = {};
  EXPECT_FALSE(node);
}

}  // namespace
}  // namespace gantry
