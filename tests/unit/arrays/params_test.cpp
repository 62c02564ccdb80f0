// SPDX-License-Identifier: Apache-2.0
#include "core/formats/arrays/params.hpp"

#include "tests/support/words.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gantry {
namespace {

using test::Words;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A record of uint8[data.size()].
Words& record(Words& file, std::string_view data) {
  file.u64(array_record_magic).u64(0).i32(1).i32(0).i32(1).u8(1).u8(8).u16(1);
  const auto size = static_cast<std::int64_t>(data.size());
  return file.i64(size).i64(size).text(data);
}

Words head(const std::vector<std::string_view>& names, std::uint64_t count) {
  Words file;
  file.u64(params_magic).u64(0).strs(names).u64(count);
  return file;
}

Words two_params() {
  Words file = head({"w", "bias"}, 2);
  record(file, "abc");
  record(file, "");
  return file;
}

TEST(Params, ReadsNamesAndArraysInOrder) {
  const Words file = two_params();

  const auto params = read_params(file.bytes());

  ASSERT_TRUE(params.ok()) << params.error().message;
  ASSERT_EQ(params->size(), 2u);
  EXPECT_EQ((*params)[0].name, "w");
  EXPECT_THAT((*params)[0].array.shape, ElementsAre(3));
  EXPECT_THAT((*params)[0].array.data, ElementsAre('a', 'b', 'c'));
  EXPECT_EQ((*params)[1].name, "bias");
  EXPECT_THAT((*params)[1].array.data, IsEmpty());
}

TEST(Params, AreViewsIntoTheFile) {
  const Words file = two_params();

  const auto params = read_params(file.bytes());

  ASSERT_TRUE(params.ok());
  EXPECT_EQ((*params)[0].array.data.data(), file.bytes().data() + (*params)[0].array.data_at);
}

TEST(Params, MayBeNone) {
  const auto params = read_params(head({}, 0).bytes());

  ASSERT_TRUE(params.ok()) << params.error().message;
  EXPECT_THAT(*params, IsEmpty());
}

struct BadParams {
  const char* name;
  Words file;
  std::uint64_t offset;
  const char* message;
};

class ParamsRefuse : public ::testing::TestWithParam<BadParams> {};

TEST_P(ParamsRefuse, AtTheWrongWord) {
  const auto params = read_params(GetParam().file.bytes());

  ASSERT_FALSE(params.ok());
  EXPECT_EQ(params.error().code, Code::malformed);
  EXPECT_EQ(params.error().offset, GetParam().offset);
  EXPECT_EQ(params.error().message, GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Files, ParamsRefuse,
    ::testing::Values(
        BadParams{"OtherMagic", Words().u64(array_record_magic).u64(0), 0,
                  "params magic is 0xdd5e40f096b4a13f, expected 0xf7e58d4f05049cb7"},
        BadParams{"CountOfNamesPastTheFile",
                  Words().u64(params_magic).u64(0).u64(std::uint64_t{1} << 61).u64(0), 16,
                  "params names: count 2305843009213693952, room for 1"},
        BadParams{"NamePastTheFile", Words().u64(params_magic).u64(0).u64(1).u64(9).u64(0), 24,
                  "params name 0: length is 9 bytes, room for 8 bytes"},
        BadParams{"NameTwice", head({"w", "w\n", "w"}, 3), 43, "params name 2 \"w\" occurs twice"},
        BadParams{"FewerArrays", head({"w"}, 0), 33, "params have 0 arrays, name count is 1"},
        BadParams{"MoreArrays", head({"w"}, 2), 33, "params have 2 arrays, name count is 1"},
        BadParams{"BrokenRecord", head({"w"}, 1).u64(7), 41,
                  "parameter \"w\": magic is 0x7, expected 0xdd5e40f096b4a13f"},
        BadParams{"BytesBehind", head({}, 0).u8(0), 32, "1 bytes follow the last parameter"}),
    [](const auto& test) { return test.param.name; });

TEST(Params, RefuseEveryTruncation) {
  const Words whole = two_params();

  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(read_params(whole.bytes().first(size)).ok()) << "accepted the first " << size;
  }
}

}  // namespace
}  // namespace gantry
