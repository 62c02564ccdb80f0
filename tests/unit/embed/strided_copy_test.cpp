// SPDX-License-Identifier: Apache-2.0
#include "core/engine/embed/strided_copy.hpp"

#include "tests/unit/tensor/fake_device.hpp"

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
    const auto made = compact_copy(from, devices, nullptr);
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

  const auto made = compact_copy(from, devices, nullptr);

  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_EQ(*static_cast<const std::int16_t*>((*made)->tensor.data), 5);
}

// Tensors on a device with opaque memory of 24 numbers.
class StridedDeviceCopy : public StridedCopy {
 protected:
  StridedDeviceCopy() {
    type = npu.add_to(devices);
    const std::int64_t shape[] = {24};
    memory = tensor_new(devices, compact_tensor(dtypes::int16, shape, {type, 0})).value();
    const gantry_tensor from = compact_tensor(dtypes::int16, shape, {1, 0}, numbers.data());
    EXPECT_TRUE(tensor_copy(devices, from, memory->tensor, nullptr).ok());
    npu.calls.clear();
  }
  Result<Ref<TensorObject>> copy_there(std::vector<std::int64_t> shape,
                                       std::vector<std::int64_t> strides, std::size_t first = 0,
                                       const gantry_env* env = nullptr) {
    gantry_tensor from = compact_tensor(dtypes::int16, shape, {type, 0}, memory->tensor.data);
    from.strides = strides.data();
    from.byte_offset = 2 * first;
    return compact_copy(from, devices, env);
  }
  static std::vector<std::int16_t> numbers_in(const Result<Ref<TensorObject>>& made) {
    if (!made.ok()) {
      ADD_FAILURE() << made.error().message;
      return {};
    }
    EXPECT_EQ((*made)->tensor.device.type, kCpu);
    const auto* const data = static_cast<const std::int16_t*>((*made)->tensor.data);
    return {data, data + (*made)->bytes / 2};
  }

  test::FakeDevice npu{"npu"};
  std::int32_t type = 0;
  Ref<TensorObject> memory;
};

TEST_F(StridedDeviceCopy, IsOnTheCpu) {
  EXPECT_THAT(numbers_in(copy_there({2, 3}, {8, 2}, 1)), ElementsAre(1, 3, 5, 9, 11, 13));
}

TEST_F(StridedDeviceCopy, GoesBackwards) {
  EXPECT_THAT(numbers_in(copy_there({2, 2}, {-4, 1}, 6)), ElementsAre(6, 7, 2, 3));
}

TEST_F(StridedDeviceCopy, ReadsItsElementsOnceAndNothingElse) {
  ASSERT_TRUE(copy_there({2, 3}, {8, 2}, 1).ok());

  EXPECT_THAT(npu.calls, ElementsAre("copy 26 bytes npu+2 -> host+0 on 0"));
}

TEST_F(StridedDeviceCopy, IsOrderedInTheStreamOfTheEnv) {
  int stream = 0;
  const gantry_env env{{type, 0}, &stream, nullptr, nullptr};

  ASSERT_TRUE(copy_there({2, 2}, {4, 2}, 0, &env).ok());

  EXPECT_EQ(npu.last_stream, &stream);
}

TEST_F(StridedDeviceCopy, OfElementsBeforeItsMemoryIsRefused) {
  const auto made = copy_there({3}, {-1}, 1);

  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().reason, "ARGUMENT_RANGE");
  EXPECT_EQ(made.error().message, "tensor int16[3] has elements 2 bytes before its memory");
}

TEST_F(StridedDeviceCopy, ReportsTheErrorOfTheDevice) {
  npu.fails_with = GANTRY_UNAVAILABLE;

  const auto made = copy_there({2, 2}, {4, 2});

  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, Code::unavailable);
  EXPECT_EQ(made.error().reason, "FAKE");
}

}  // namespace
}  // namespace gantry
