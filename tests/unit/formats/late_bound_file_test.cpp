// SPDX-License-Identifier: Apache-2.0
#include "core/formats/late_bound_file.hpp"

#include "tests/support/files.hpp"
#include "tests/support/words.hpp"

#include <gantry/compact_tensor.hpp>
#include <gantry/dtype_text.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace gantry {
namespace {

using LateBoundTensor = std::pair<std::string_view, const gantry_tensor*>;

TEST(LateBoundFile, IsReadAsItWasWritten) {
  const test::TempDir temp;
  const std::int64_t shape[] = {3};
  const float weights[] = {1, 2, 3};
  const std::int64_t number[] = {7};
  const gantry_tensor first = compact_tensor(dtypes::float32, shape, {1, 0}, weights);
  const gantry_tensor second = compact_tensor(dtypes::int64, {}, {1, 0}, number);
  const LateBoundTensor tensors[] = {{"const_0", &first}, {"const_4", &second}};

  const Status written = write_late_bound_file(temp / "late.params", tensors);
  const auto read = read_late_bound_file(temp / "late.params");

  ASSERT_TRUE(written.ok()) << written.error().message;
  ASSERT_TRUE(read.ok()) << read.error().message;
  ASSERT_EQ(read->arrays.size(), 2u);
  EXPECT_EQ(read->arrays[0].first, "const_0");
  EXPECT_THAT(read->arrays[0].second.shape, ::testing::ElementsAre(3));
  EXPECT_EQ(std::memcmp(read->arrays[0].second.data.data(), weights, sizeof weights), 0);
  EXPECT_EQ(read->arrays[1].first, "const_4");
  EXPECT_TRUE(same_dtype(read->arrays[1].second.dtype, dtypes::int64));
  EXPECT_EQ(std::memcmp(read->arrays[1].second.data.data(), number, sizeof number), 0);
}

TEST(LateBoundFile, IsNotReplacedByOneThatCannotBeWritten) {
  const test::TempDir temp;

  const Status written = write_late_bound_file(temp / "absent/late.params", {});

  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().code, Code::not_found);
}

// Writers of arrays of vectors omit the lanes.
TEST(LateBoundFile, RefusesArraysWithFewerBytesThanTheirType) {
  const test::TempDir temp;
  test::Words file = test::Words().u64(0xF7E58D4F05049CB7).u64(0).strs({"v"}).u64(1);
  file.u64(array_record_magic).u64(0).i32(1).i32(0).i32(1).u8(2).u8(32).u16(4).i64(2).u64(8);
  const std::uint64_t data_at = file.size();
  file.u64(0);
  test::write_file(
      temp / "vectors.params",
      std::string_view(reinterpret_cast<const char*>(file.bytes().data()), file.size()));

  const auto read = read_late_bound_file(temp / "vectors.params");

  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code, Code::malformed);
  EXPECT_EQ(read.error().offset, data_at);
  EXPECT_THAT(std::string(read.error().message.text()),
              ::testing::StartsWith("array is float32x4[2] in 8 bytes, expected 32\n  in parameter "
                                    "\"v\"\n  in \""));
}

TEST(LateBoundFile, RefusesOtherFiles) {
  const test::TempDir temp;
  test::write_file(temp / "wrong.params", "not parameters at all");

  const auto read = read_late_bound_file(temp / "wrong.params");

  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code, Code::malformed);
  EXPECT_EQ(read.error().offset, 0u);
  EXPECT_EQ(read_late_bound_file(temp / "absent").error().code, Code::not_found);
}

}  // namespace
}  // namespace gantry
