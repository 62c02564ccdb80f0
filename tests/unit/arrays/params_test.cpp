// SPDX-License-Identifier: Apache-2.0
#include "core/arrays/params.hpp"

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

std::span<const std::uint8_t> as_bytes(const std::string& text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
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
                  "params name 0: length 9, room for 8"},
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

TEST(Params, WriteTheBytesThatTheyRead) {
  const Words file = two_params();
  const auto params = read_params(file.bytes()).value();

  const auto written = params_bytes(params);

  ASSERT_TRUE(written.ok()) << written.error().message;
  EXPECT_THAT(as_bytes(*written), ::testing::ElementsAreArray(file.bytes()));
}

TEST(Params, WriteEveryFieldOfARecord) {
  const std::string data(48, 'x');
  Param param{"conv.weight", {}};
  param.array.dtype = {2, 64, 1};
  param.array.shape = {1, 2, 3};
  param.array.data = as_bytes(data);

  const auto written = params_bytes({&param, 1}).value();
  const auto read = read_params(as_bytes(written)).value();

  ASSERT_EQ(read.size(), 1u);
  EXPECT_EQ(read[0].name, "conv.weight");
  EXPECT_TRUE(same_dtype(read[0].array.dtype, param.array.dtype));
  EXPECT_THAT(read[0].array.shape, ElementsAre(1, 2, 3));
  EXPECT_THAT(read[0].array.data, ::testing::ElementsAreArray(as_bytes(data)));
}

struct UnwritableParams {
  const char* name;
  gantry_dtype dtype;
  std::vector<std::int64_t> shape;
  const char* message;
};

class ParamsAreNotWritten : public ::testing::TestWithParam<UnwritableParams> {};

TEST_P(ParamsAreNotWritten, IfTheyCouldNotBeReadBack) {
  const std::string data(4, 'x');
  Param param{"w", {}};
  param.array.dtype = GetParam().dtype;
  param.array.shape = GetParam().shape;
  param.array.data = as_bytes(data);

  const auto written = params_bytes({&param, 1});

  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().code, Code::invalid);
  EXPECT_EQ(written.error().message, GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Arrays, ParamsAreNotWritten,
    ::testing::Values(
        UnwritableParams{"Lanes",
                         {1, 8, 4},
                         {1},
                         "parameter \"w\": type is uint8x4, several lanes cannot be stored"},
        UnwritableParams{"Rank",
                         {1, 8, 1},
                         std::vector<std::int64_t>(33, 1),
                         "parameter \"w\": rank is 33, maximum is 32"},
        UnwritableParams{
            "Shape", {1, 8, 1}, {-1}, "parameter \"w\": dimension 0 is -1, minimum is 0"},
        UnwritableParams{"Size",
                         {1, 8, 1},
                         {5},
                         "parameter \"w\": data are 4 bytes, dtype and shape require 5"}),
    [](const auto& test) { return test.param.name; });

TEST(Params, AreNotWrittenUnderOneNameTwice) {
  Param param{"w", {}};
  param.array.dtype = {1, 8, 1};
  param.array.shape = {0};
  const Param twice[] = {param, param};

  const auto written = params_bytes(twice);

  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().code, Code::invalid);
  EXPECT_EQ(written.error().message, "parameter \"w\" occurs twice");
}

}  // namespace
}  // namespace gantry
