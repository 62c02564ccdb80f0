// SPDX-License-Identifier: Apache-2.0
#include <gantry/compact_tensor.hpp>
#include <gantry/dtype_text.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <span>

namespace gantry {
namespace {

TEST(CompactTensor, DescribesBorrowedElements) {
  const std::int64_t shape[] = {2, 3};
  const float elements[6] = {};

  const gantry_tensor tensor = compact_tensor(dtypes::float32, shape, {2, 1}, elements);

  EXPECT_EQ(tensor.data, elements);
  EXPECT_TRUE(same_device(tensor.device, {2, 1}));
  EXPECT_EQ(tensor.ndim, 2);
  EXPECT_TRUE(same_dtype(tensor.dtype, dtypes::float32));
  EXPECT_EQ(tensor.shape, shape);
  EXPECT_EQ(tensor.strides, nullptr);
  EXPECT_EQ(tensor.byte_offset, 0u);
}

TEST(CompactTensor, IsOnTheCpuAndHasNoDataUnlessGiven) {
  const std::int64_t shape[] = {4};

  const gantry_tensor tensor = compact_tensor(dtypes::int32, shape);

  EXPECT_TRUE(same_device(tensor.device, {cpu_device_type, 0}));
  EXPECT_EQ(tensor.data, nullptr);
}

TEST(CompactTensor, HasNoDimensionsForOneElement) {
  const gantry_tensor tensor = compact_tensor(dtypes::int64, {});

  EXPECT_EQ(tensor.ndim, 0);
}

}  // namespace
}  // namespace gantry
