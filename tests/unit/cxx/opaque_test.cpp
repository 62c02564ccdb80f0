// SPDX-License-Identifier: Apache-2.0
#include <gantry/opaque.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "tests/unit/cxx/fake_host_table.hpp"

namespace gantry {
namespace {

struct Counter {
  static constexpr const char* type_name = "test.Counter";
  explicit Counter(int* alive) : alive(alive) { ++*alive; }
  ~Counter() { --*alive; }
  int* alive;
};

struct Other {
  static constexpr const char* type_name = "test.Counter";
};

class OpaqueTest : public ::testing::Test {
 protected:
  test::FakeHostTable fake;
  const Host host{&fake};
  int alive = 0;
};

TEST_F(OpaqueTest, LivesAsLongAsItsObject) {
  auto made = std::make_unique<Counter>(&alive);
  Counter* const counter = made.get();
  {
    const Value object = std::move(new_opaque(host, std::move(made))).value();
    EXPECT_EQ(opaque_of<Counter>(host, object.object()).value(), counter);
    EXPECT_EQ(alive, 1);
  }
  EXPECT_EQ(alive, 0);
}

TEST_F(OpaqueTest, IsNotOneOfAnotherClassWithTheSameName) {
  const Value object = std::move(new_opaque(host, std::make_unique<Counter>(&alive))).value();

  const auto other = opaque_of<Other>(host, object.object());

  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().code, Code::invalid);
  EXPECT_EQ(other.error().reason, "ARGUMENT_KIND");
}

TEST_F(OpaqueTest, DiesIfTheHostHasNoRoom) {
  fake.room = 0;

  const auto object = new_opaque(host, std::make_unique<Counter>(&alive));

  EXPECT_FALSE(object.ok());
  EXPECT_EQ(alive, 0);
}

}  // namespace
}  // namespace gantry
