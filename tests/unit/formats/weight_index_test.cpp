// SPDX-License-Identifier: Apache-2.0
#include "core/formats/weight_index.hpp"

#include "tests/support/files.hpp"
#include "tests/support/small_graph.hpp"
#include "tests/support/weights.hpp"

#include <gantry/dtype_text.hpp>

#include <gmock/gmock.h>

#include <array>
#include <bit>
#include <cmath>
#include <limits>

namespace gantry::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(WeightIndex, ContainsShardsAndRecordsInTheOrderOfTheText) {
  const auto index = parse_weight_index(small_index);

  ASSERT_TRUE(index.ok()) << index.error().message;
  ASSERT_THAT(index->shards, SizeIs(2));
  EXPECT_EQ(index->shards[0].path, "s0.bin");
  EXPECT_EQ(index->shards[0].bytes, 12u);
  ASSERT_THAT(index->shards[1].records, SizeIs(1));
  const WeightRecord& b = index->shards[1].records[0];
  EXPECT_EQ(b.name, "b");
  EXPECT_EQ(dtype_text(b.dtype), "float32");
  EXPECT_THAT(b.shape, ElementsAre(4));
  EXPECT_EQ(b.format, "f32-to-bf16");
  EXPECT_EQ(b.stored_bytes, 8u);
  EXPECT_EQ(b.begin, 0u);
  EXPECT_TRUE(b.is_narrowed());
  EXPECT_FALSE(index->shards[0].records[0].is_narrowed());
  EXPECT_EQ(small_index[b.at], '{');
  for (const WeightShard& shard : index->shards) EXPECT_TRUE(check_shard(shard).ok());
}

struct AcceptedIndex {
  std::string name, from, to;
};
class IndexVariant : public ::testing::TestWithParam<AcceptedIndex> {};

TEST_P(IndexVariant, IsAccepted) {
  const auto index = parse_weight_index(replaced(small_index, GetParam().from, GetParam().to));

  ASSERT_TRUE(index.ok()) << index.error().message;
  for (const WeightShard& shard : index->shards) {
    const Status checked = check_shard(shard);
    EXPECT_TRUE(checked.ok()) << checked.error().message;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Small, IndexVariant,
    ::testing::Values(
        AcceptedIndex{"WithoutMetadata", R"("metadata": {}, )", ""},
        AcceptedIndex{"WithOtherKeys", R"("metadata": {})",
                      R"("metadata": {"ParamBytes": 1.5}, "x": [[]])"},
        AcceptedIndex{"WithAChecksum", R"("nbytes": 8, "records")",
                      R"("nbytes": 8, "md5sum": "0", "records")"},
        AcceptedIndex{"WithASubdirectory", "s0.bin", "sub/./s..0.bin"},
        AcceptedIndex{"WithTheNameTwice", R"("name": "b")", R"("name": "a")"},
        AcceptedIndex{"WithoutRecordsInAShard", R"("records": [
    {"name": "a", "shape": [3], "dtype": "float32", "format": "raw", "nbytes": 12, "byteOffset": 0}])",
                      R"("records": [])"},
        AcceptedIndex{"WithAGap",
                      R"("shape": [3], "dtype": "float32", "format": "raw", "nbytes": 12)",
                      R"("shape": [1], "dtype": "float32", "format": "raw", "nbytes": 4)"},
        AcceptedIndex{
            "WithAnEmptyRecordAtTheEnd",
            R"("shape": [3], "dtype": "float32", "format": "raw", "nbytes": 12, "byteOffset": 0)",
            R"("shape": [0, 7], "dtype": "float32", "format": "raw", "nbytes": 0, "byteOffset": 12)"},
        AcceptedIndex{"WithAScalar",
                      R"("shape": [3], "dtype": "float32", "format": "raw", "nbytes": 12)",
                      R"("shape": [], "dtype": "float32", "format": "raw", "nbytes": 4)"},
        AcceptedIndex{"WithTheFormatOfFloatsOnAnotherType",
                      R"("dtype": "float32", "format": "raw", "nbytes": 12)",
                      R"("dtype": "uint32", "format": "f32-to-bf16", "nbytes": 12)"},
        AcceptedIndex{"WithMinusZero", R"("byteOffset": 0)", R"("byteOffset": -0)"}),
    [](const auto& test) { return test.param.name; });

TEST(WeightIndex, HasBooleansOfOneByte) {
  const auto index = parse_weight_index(
      replaced(small_index, R"("dtype": "float32", "format": "raw", "nbytes": 12)",
               R"("dtype": "bool", "format": "raw", "nbytes": 3)"));

  ASSERT_TRUE(index.ok()) << index.error().message;
  EXPECT_EQ(dtype_text(index->shards[0].records[0].dtype), "bool8");
  EXPECT_TRUE(check_shard(index->shards[0]).ok());
}

struct BadIndex {
  std::string name, from, to;
  Code code;
  std::string reason;
  // text at the offset of the error
  std::string at;
  std::string message;
};
class IndexError : public ::testing::TestWithParam<BadIndex> {};

TEST_P(IndexError, NamesThePlace) {
  const BadIndex& bad = GetParam();
  const std::string text = replaced(small_index, bad.from, bad.to);

  const auto index = parse_weight_index(text);

  ASSERT_FALSE(index.ok());
  EXPECT_EQ(index.error().code, bad.code);
  EXPECT_EQ(index.error().reason, bad.reason);
  ASSERT_LE(index.error().offset, text.size());
  EXPECT_EQ(text.substr(index.error().offset, bad.at.size()), bad.at);
  EXPECT_EQ(index.error().message, bad.message);
}

const std::string in_shard_0 = "\n  in shard 0 \"s0.bin\"";
const std::string in_shard_1 = "\n  in shard 1 \"s1.bin\"";
constexpr std::string_view count_text = "a number from 0 to 2^63 - 1";

BadIndex wrong(std::string name, std::string from, std::string to, std::string at,
               std::string message) {
  return {std::move(name), std::move(from), std::move(to),     Code::malformed,
          "WEIGHT_INDEX",  std::move(at),   std::move(message)};
}
BadIndex no_key(std::string name, std::string from, std::string to, std::string at,
                std::string message) {
  BadIndex bad =
      wrong(std::move(name), std::move(from), std::move(to), std::move(at), std::move(message));
  bad.reason = "WEIGHT_KEY";
  return bad;
}
BadIndex bad_path(std::string name, const std::string& path, const std::string& shown,
                  const std::string& why) {
  return wrong(std::move(name), "\"s0.bin\"", path, path,
               "shard 0: dataPath " + shown + " " + why + ", expected a path inside the directory");
}

INSTANTIATE_TEST_SUITE_P(
    OfTheRoot, IndexError,
    ::testing::Values(wrong("NotAnObject", small_index, "[]", "[",
                            "index of weights is a list, expected an object"),
                      wrong("NotJson", "\n  ]}]}", "\n  ]}]", "",
                            "index of weights is not JSON: ends after \"ffset\\\": 0}\\n  ]}]\""),
                      no_key("WithoutRecords", R"("records": [
  {"dataPath")",
                             R"("x": [
  {"dataPath")",
                             "{\"metadata\"", "index of weights has no \"records\""),
                      wrong("WithRecordsThatAreNoList", small_index, R"({"records": {}})", "{}",
                            "index of weights: \"records\" is an object, expected a list"),
                      wrong("WithAShardThatIsNoObject", small_index, R"({"records": [7]})", "7",
                            "shard 0 is a number, expected an object")),
    [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(
    OfAShard, IndexError,
    ::testing::Values(
        no_key("WithoutAPath", R"("dataPath": "s1.bin", )", "",
               R"({"format": "raw-shard", "nbytes": 8)", "shard 1 has no \"dataPath\""),
        no_key("WithoutAFormat", R"("format": "raw-shard", "nbytes": 8)", R"("nbytes": 8)",
               R"({"dataPath": "s1.bin")", "shard 1 has no \"format\""),
        no_key("WithoutASize", R"("nbytes": 8, "records")", R"("records")",
               R"({"dataPath": "s1.bin")", "shard 1 has no \"nbytes\""),
        no_key("WithoutAListOfRecords", R"("nbytes": 8, "records")", R"("nbytes": 8, "x")",
               R"({"dataPath": "s1.bin")", "shard 1 has no \"records\"\n  in shard 1 \"s1.bin\""),
        wrong("WithAPathThatIsNoText", "\"s0.bin\"", "3", "3",
              "shard 0: \"dataPath\" is a number, expected a string"),
        wrong("WithAFormatThatIsNoText", "\"raw-shard\"", "null", "null",
              "shard 0: \"format\" is null, expected a string"),
        wrong("WithANegativeSize", R"("nbytes": 12, "records")", R"("nbytes": -12, "records")",
              "-12", concat("shard 0: \"nbytes\" is -12, expected ", count_text)),
        wrong("WithASizeThatIsNoNumber", R"("nbytes": 12, "records")",
              R"("nbytes": "12", "records")", "\"12\"",
              concat("shard 0: \"nbytes\" is a string, expected ", count_text)),
        wrong("WithASizeThatIsTooLarge", R"("nbytes": 12, "records")",
              R"("nbytes": 9223372036854775808, "records")", "9223372036854775808",
              concat("shard 0: \"nbytes\" is 9223372036854775808, expected ", count_text)),
        bad_path("WithAnEmptyPath", R"("")", R"("")", "is empty"),
        bad_path("WithAPathThatIsTooLong", concat("\"", std::string(4097, 'a'), "\""),
                 concat("\"", std::string(80, 'a'), "...\" (4097 bytes)"),
                 "is longer than 4096 bytes"),
        bad_path("WithAnAbsolutePath", R"("/etc/passwd")", R"("/etc/passwd")", "is absolute"),
        bad_path("WithAPathToTheParent", R"("../s0.bin")", R"("../s0.bin")", "contains \"..\""),
        bad_path("WithAPathThatReturns", R"("a/../s0.bin")", R"("a/../s0.bin")", "contains \"..\""),
        bad_path("WithAPathThatEndsAtTheParent", R"("..")", R"("..")", "contains \"..\""),
        bad_path("WithAPathWithNul", R"("s0\u0000.bin")", R"("s0\x00.bin")", "contains NUL")),
    [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(
    OfARecord, IndexError,
    ::testing::Values(
        wrong("ThatIsNoObject", R"("nbytes": 8, "records": [)", R"("nbytes": 8, "records": [[], )",
              "[]", "record 0 is a list, expected an object" + in_shard_1),
        no_key("WithoutAName", R"("name": "b", )", "", R"({"shape": [4])",
               "record 0 has no \"name\"" + in_shard_1),
        no_key("WithoutAShape", R"("shape": [4], )", "", R"({"name": "b")",
               "record 0 has no \"shape\"" + in_shard_1),
        no_key("WithoutADtype", R"([4], "dtype": "float32")", "[4]", R"({"name": "b")",
               "record 0 has no \"dtype\"" + in_shard_1),
        no_key("WithoutAFormat", R"(, "format": "f32-to-bf16")", "", R"({"name": "b")",
               "record 0 has no \"format\"" + in_shard_1),
        no_key("WithoutASize", R"("nbytes": 8, "byteOffset")", R"("byteOffset")", R"({"name": "b")",
               "record 0 has no \"nbytes\"" + in_shard_1),
        no_key("WithoutAnOffset", R"("nbytes": 8, "byteOffset": 0)", R"("nbytes": 8)",
               R"({"name": "b")", "record 0 has no \"byteOffset\"" + in_shard_1),
        wrong("WithANameThatIsNoText", R"("name": "a")", R"("name": true)", "true",
              "record 0: \"name\" is a boolean, expected a string" + in_shard_0),
        wrong("WithAShapeThatIsNoList", R"("shape": [3])", R"("shape": 3)", "3",
              "record 0: \"shape\" is a number, expected a list" + in_shard_0),
        wrong("WithANegativeExtent", R"("shape": [3])", R"("shape": [3, -1])", "-1",
              concat("record 0: \"shape\" is -1, expected ", count_text, in_shard_0)),
        wrong("WithAnExtentThatIsNoNumber", R"("shape": [3])", R"("shape": ["n"])", "\"n\"",
              concat("record 0: \"shape\" is a string, expected ", count_text, in_shard_0)),
        wrong("WithTooManyDimensions", R"("shape": [3])",
              R"("shape": [1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,)"
              R"(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1])",
              "[1,1", "record 0: shape has 65 dimensions, maximum is 64" + in_shard_0),
        wrong(
            "WithAnUnknownDtype", R"("dtype": "float32", "format": "raw")",
            R"("dtype": "flt32", "format": "raw")", "\"flt32\"",
            "record 0: dtype \"flt32\": no such type, known are int, uint, float, bfloat, complex, "
            "bool, handle and the names of small floats" +
                in_shard_0),
        BadIndex{"WithAddresses", R"("dtype": "float32", "format": "raw")",
                 R"("dtype": "handle", "format": "raw")", Code::unsupported, "WEIGHT_INDEX",
                 "\"handle\"",
                 "record 0: dtype \"handle\" is not supported: its elements have no whole bytes of "
                 "data" +
                     in_shard_0},
        BadIndex{"WithHalfBytes", R"("dtype": "float32", "format": "raw")",
                 R"("dtype": "int4", "format": "raw")", Code::unsupported, "WEIGHT_INDEX",
                 "\"int4\"",
                 "record 0: dtype \"int4\" is not supported: its elements have no whole bytes of "
                 "data" +
                     in_shard_0}),
    [](const auto& test) { return test.param.name; });

struct BadShard {
  std::string name, from, to;
  Code code;
  std::string reason;
  std::string message;
};
class ShardError : public ::testing::TestWithParam<BadShard> {};

// Values that an index may have one by one, but not together.
TEST_P(ShardError, NamesTheRecord) {
  const BadShard& bad = GetParam();
  const auto index = parse_weight_index(replaced(small_index, bad.from, bad.to));
  ASSERT_TRUE(index.ok()) << index.error().message;

  const Status checked = check_shard(index->shards[0]);

  ASSERT_FALSE(checked.ok());
  EXPECT_EQ(checked.error().code, bad.code);
  EXPECT_EQ(checked.error().reason, bad.reason);
  EXPECT_EQ(checked.error().offset,
            bad.reason == "WEIGHT_SHARD" ? index->shards[0].at : index->shards[0].records[0].at);
  EXPECT_EQ(checked.error().message, bad.message);
  EXPECT_TRUE(check_shard(index->shards[1]).ok());
}

INSTANTIATE_TEST_SUITE_P(
    Small, ShardError,
    ::testing::Values(
        BadShard{"Format", "raw-shard", "npz-shard", Code::unsupported, "WEIGHT_SHARD",
                 "format is \"npz-shard\", expected \"raw-shard\""},
        BadShard{"FormatOfARecord", R"("format": "raw", )", R"("format": "q4", )",
                 Code::unsupported, "WEIGHT_FORMAT",
                 "format is \"q4\", expected \"raw\" or \"f32-to-bf16\"\n  in record 0 \"a\""},
        BadShard{"FormatOfARecordThatIsNoFloat", R"("float32", "format": "raw", )",
                 R"("int32", "format": "q4", )", Code::unsupported, "WEIGHT_FORMAT",
                 "format is \"q4\", expected \"raw\" or \"f32-to-bf16\"\n  in record 0 \"a\""},
        BadShard{"SizeOfRawData", R"("nbytes": 12, "byteOffset")", R"("nbytes": 8, "byteOffset")",
                 Code::malformed, "WEIGHT_RECORD",
                 "nbytes is 8, expected 12 for float32[3] in format \"raw\"\n  in record 0 \"a\""},
        BadShard{"SizeOfNarrowedData", R"("format": "raw", )", R"("format": "f32-to-bf16", )",
                 Code::malformed, "WEIGHT_RECORD",
                 "nbytes is 12, expected 6 for float32[3] in format \"f32-to-bf16\"\n  in record 0 "
                 "\"a\""},
        BadShard{"OffsetPastTheEnd", R"("byteOffset": 0)", R"("byteOffset": 13)", Code::malformed,
                 "WEIGHT_RECORD",
                 "byteOffset is 13 and nbytes 12, the shard has 12 bytes\n  in record 0 \"a\""},
        BadShard{"EndPastTheEnd", R"("byteOffset": 0)", R"("byteOffset": 1)", Code::malformed,
                 "WEIGHT_RECORD",
                 "byteOffset is 1 and nbytes 12, the shard has 12 bytes\n  in record 0 \"a\""},
        BadShard{"LargestOffset", R"("byteOffset": 0)", R"("byteOffset": 9223372036854775807)",
                 Code::malformed, "WEIGHT_RECORD",
                 "byteOffset is 9223372036854775807 and nbytes 12, the shard has 12 bytes\n  in "
                 "record 0 \"a\""},
        BadShard{"SizeThatOverflows", R"("shape": [3])", R"("shape": [4611686018427387904, 4])",
                 Code::malformed, "WEIGHT_RECORD",
                 "dimension 0 is 4611686018427387904, room for 2305843009213693951\n  in record 0 "
                 "\"a\""}),
    [](const auto& test) { return test.param.name; });

TEST(WeightIndex, OfEveryTruncationIsRefused) {
  for (std::size_t size = 0; size < small_index.size(); ++size) {
    EXPECT_FALSE(parse_weight_index(std::string_view(small_index).substr(0, size)).ok()) << size;
  }
}

TEST(ElementsOfARecord, AreWidenedBitForBit) {
  const WeightRecord record{"a", dtypes::float32, {4}, "f32-to-bf16", 0, 8, 0};
  const std::array<std::uint16_t, 4> stored = {0x3f80, 0x8000, 0x7f80, 0xffc1};
  std::array<std::uint32_t, 4> floats{};

  read_elements(record, {reinterpret_cast<const std::uint8_t*>(stored.data()), 8}, floats.data());

  EXPECT_THAT(floats, ElementsAre(0x3f800000, 0x80000000, 0x7f800000, 0xffc10000));
  EXPECT_EQ(std::bit_cast<float>(floats[0]), 1.0f);
  EXPECT_TRUE(std::signbit(std::bit_cast<float>(floats[1])));
}

TEST(ElementsOfARecord, OfAnotherTypeAreCopied) {
  const WeightRecord record{"a", dtypes::uint16, {2}, "f32-to-bf16", 0, 4, 0};
  const std::array<std::uint8_t, 4> stored = {1, 2, 3, 4};
  std::array<std::uint8_t, 4> copy{};

  read_elements(record, stored, copy.data());

  EXPECT_EQ(copy, stored);
}

}  // namespace
}  // namespace gantry::test
