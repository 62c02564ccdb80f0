// SPDX-License-Identifier: Apache-2.0
#include "core/embed/strided_copy.hpp"

#include <gantry/compact_tensor.hpp>
#include <gantry/dtype_text.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <vector>

namespace gantry {
namespace {

using ::testing::ElementsAre;

class StridedCopy : public ::testing::Test {
 protected:
  StridedCopy() { std::iota(numbers.begin(), numbers.end(), std::int16_t{0}); }
  std::vector<std::int16_t> copy(std::vector<std::int64_t> shape, std::vector<std::int64_t> strides,
                                 std::size_t first = 0) {
    gantry_tensor from = compact_tensor(dtypes::int16, shape, {1, 0}, numbers.data());
    from.strides = strides.data();
    from.byte_offset = 2 * first;
    const auto made = compact_copy(from, devices);
    if (!made.ok()) {
      ADD_FAILURE() << made.error().message;
      return {};
    }
    EXPECT_EQ((*made)->tensor.strides, nullptr);
    const auto* const data = static_cast<const std::int16_t*>((*made)->tensor.data);
    return {data, data + (*made)->bytes / 2};
  }

  DeviceSet devices;
  std::vector<std::int16_t> numbers = std::vector<std::int16_t>(24);
};

TEST_F(StridedCopy, Transposes) {
  EXPECT_THAT(copy({3, 2}, {1, 3}), ElementsAre(0, 3, 1, 4, 2, 5));
}

TEST_F(StridedCopy, TakesRowsThatAreApart) {
  EXPECT_THAT(copy({2, 3}, {8, 1}, 1), ElementsAre(1, 2, 3, 9, 10, 11));
}

TEST_F(StridedCopy, GoesBackwards) {
  EXPECT_THAT(copy({2, 2}, {-2, -1}, 3), ElementsAre(3, 2, 1, 0));
}

TEST_F(StridedCopy, RepeatsWithStrideZero) {
  EXPECT_THAT(copy({2, 2}, {0, 3}), ElementsAre(0, 3, 0, 3));
}

TEST_F(StridedCopy, HasThreeAxes) {
  EXPECT_THAT(copy({2, 2, 2}, {1, 4, 12}), ElementsAre(0, 12, 4, 16, 1, 13, 5, 17));
}

TEST_F(StridedCopy, IsEmptyWithoutElements) { EXPECT_THAT(copy({0, 2}, {9, 9}), ElementsAre()); }

TEST_F(StridedCopy, HasOneElementWithoutAxes) {
  std::int64_t none = 0;
  gantry_tensor from = compact_tensor(dtypes::int16, {}, {1, 0}, &numbers[5]);
  from.strides = &none;

  const auto made = compact_copy(from, devices);

  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_EQ(*static_cast<const std::int16_t*>((*made)->tensor.data), 5);
}

}  // namespace
}  // namespace gantry
