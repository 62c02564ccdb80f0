// SPDX-License-Identifier: Apache-2.0
#include "core/writing/graph_payload.hpp"
#include "tests/support/aligned_bytes.hpp"
#include "tests/support/words.hpp"
#include "tests/unit/writing/bytes_of.hpp"

#include <gantry/aligned_record.hpp>

#include <gmock/gmock.h>

namespace gantry {
namespace {

using test::bytes_of;
using test::Words;
using ::testing::ElementsAreArray;

constexpr gantry_dtype float32{2, 32, 1};
constexpr gantry_dtype uint8{1, 8, 1};

Parameter parameter(std::string name, std::vector<std::int64_t> shape, gantry_dtype dtype = uint8) {
  const std::uint64_t size = tensor_bytes(shape, dtype).value();
  return {std::move(name), dtype, std::move(shape), std::string(size, 'd')};
}

Words record(gantry_dtype dtype, const std::vector<std::int64_t>& shape, std::string_view data) {
  Words words;
  words.u64(array_record_magic).u64(0).i32(1).i32(0).i32(static_cast<std::int32_t>(shape.size()));
  words.u8(dtype.code).u8(dtype.bits).u16(dtype.lanes);
  for (const std::int64_t extent : shape) words.i64(extent);
  return words.i64(static_cast<std::int64_t>(data.size())).text(data);
}

// Names precede records, a filler precedes each parameter, the module's name is last. The filler's
// size makes the parameter's data begin at offset 256.
TEST(GraphPayload, IsWrittenFieldByField) {
  Pieces out;
  const GraphPayload payload{"{}", {parameter("w", {2}, uint8)}, "default"};

  ASSERT_TRUE(write_graph_payload(payload, out).ok());

  const std::size_t names_end = 10 + 8 + 8 + (8 + 15) + (8 + 1);
  const std::size_t fill = 256 - (names_end + 48 + 48);
  const Words expected =
      Words()
          .str("{}")
          .u64(2)
          .strs({"__gantry_fill_0", "w"})
          .bytes(record(uint8, {static_cast<std::int64_t>(fill)}, std::string(fill, '\0')).bytes())
          .bytes(record(uint8, {2}, "dd").bytes())
          .str("default");
  EXPECT_THAT(bytes_of(out), ElementsAreArray(expected.bytes()));
}

// Returns the array records of a payload that begins at offset `base` of the container.
std::vector<ArrayRecord> read_back(std::span<const std::uint8_t> bytes, std::uint64_t base) {
  ByteReader in(bytes, base);
  EXPECT_TRUE(in.read_string("json").ok());
  const std::uint64_t count = in.read_u64("count").value();
  EXPECT_EQ(in.read_u64("names").value(), count);
  for (std::uint64_t i = 0; i < count; ++i) EXPECT_TRUE(in.read_string("name").ok());
  std::vector<ArrayRecord> records;
  for (std::uint64_t i = 0; i < count; ++i) {
    Result<ArrayRecord> one = read_array_record(in, "record");
    if (!one.ok()) {
      ADD_FAILURE() << one.error().message;
      return records;
    }
    records.push_back(*one);
  }
  EXPECT_TRUE(in.read_string("module name").ok());
  EXPECT_TRUE(in.at_end());
  return records;
}

TEST(GraphPayload, AlignsEveryParameterAtAnyOffset) {
  for (std::uint64_t base = 0; base < 2 * record_data_alignment; ++base) {
    GraphPayload payload{std::string(base % 7, ' '), {}, "default"};
    for (std::int64_t n = 0; n < 12; ++n) {
      const std::vector<std::vector<std::int64_t>> shapes = {
          {}, {n}, {n * 11 + 1}, {n, 3}, {1, 2, n}, {2, 1, 3, n}, {128 - n}};
      payload.parameters.push_back(
          parameter(concat("p", n), shapes[(base + static_cast<std::uint64_t>(n)) % shapes.size()],
                    n % 2 == 0 ? float32 : uint8));
    }
    Pieces out(base);
    ASSERT_TRUE(write_graph_payload(payload, out).ok());
    const std::vector<std::uint8_t> bytes = bytes_of(out);

    const std::vector<ArrayRecord> records = read_back(bytes, base);

    ASSERT_EQ(records.size(), 24u);
    for (std::size_t p = 0; p < 12; ++p) {
      const ArrayRecord& found = records[2 * p + 1];
      EXPECT_EQ(found.data_at % record_data_alignment, 0u)
          << "parameter " << p << ", base " << base;
      EXPECT_EQ(found.shape, payload.parameters[p].shape);
      EXPECT_EQ(found.data.size(), data_bytes(payload.parameters[p]));
      EXPECT_LE(records[2 * p].data.size(), record_data_alignment);
    }
  }
}

TEST(GraphPayload, PlacesDataOf64KiBAtAPage) {
  for (const std::uint64_t base : {0, 1000, 4095}) {
    Pieces out(base);
    ASSERT_TRUE(write_graph_payload(
                    {"{}", {parameter("small", {65535}), parameter("large", {65536})}, "m"}, out)
                    .ok());
    const std::vector<std::uint8_t> bytes = bytes_of(out);

    const std::vector<ArrayRecord> records = read_back(bytes, base);

    ASSERT_EQ(records.size(), 4u);
    EXPECT_EQ(records[1].data_at % 128, 0u);
    EXPECT_LE(records[0].data.size(), 128u);
    EXPECT_EQ(records[3].data_at % 4096, 0u);
    EXPECT_LE(records[2].data.size(), 4096u);
  }
}

// As core/formats aligns the same payload without fillers.
TEST(GraphPayload, IsThatOfTheWriterOfAlignedPayloads) {
  const std::vector<Parameter> parameters = {parameter("w", {3, 1}, float32), parameter("s", {}),
                                             parameter("large", {70000})};
  Words without = Words().str("{}").u64(3).strs({"w", "s", "large"});
  for (const Parameter& each : parameters)
    without.bytes(record(each.dtype, each.shape, std::get<std::string>(each.data)).bytes());
  without.str("m");
  for (const std::uint64_t base : {44, 1000}) {
    Pieces out(base);
    ASSERT_TRUE(write_graph_payload({"{}", parameters, "m"}, out).ok());

    EXPECT_EQ(
        bytes_of(out),
        test::aligned("GraphExecutorFactory", without.bytes(), Numbering::packed, base).value());
  }
}

struct RefusedPayload {
  std::string name;
  std::vector<Parameter> parameters;
  std::string message;
};
class GraphPayloadRejects : public ::testing::TestWithParam<RefusedPayload> {};

TEST_P(GraphPayloadRejects, TheParameters) {
  Pieces out;

  const Status written = write_graph_payload({"{}", GetParam().parameters, "default"}, out);

  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().code, Code::invalid);
  EXPECT_EQ(written.error().message, GetParam().message);
  EXPECT_EQ(out.size(), 0u);
}

INSTANTIATE_TEST_SUITE_P(
    Cases, GraphPayloadRejects,
    ::testing::Values(
        RefusedPayload{"TakenTwice",
                       {parameter("w", {1}), parameter("w", {1})},
                       "parameter \"w\" is defined twice"},
        RefusedPayload{
            "FillersName",
            {parameter("__gantry_fill_9", {1})},
            "parameter \"__gantry_fill_9\" begins with \"__gantry_fill_\", which is reserved for "
            "fillers"},
        RefusedPayload{"Lanes",
                       {Parameter{"w", {2, 32, 4}, {1}, std::string(16, 'd')}},
                       "parameter \"w\" is float32x4, an array record supports one lane"},
        RefusedPayload{"Dimensions",
                       {parameter("w", std::vector<std::int64_t>(33, 1))},
                       "parameter \"w\" has 33 dimensions, maximum is 32"},
        RefusedPayload{"WrongSize",
                       {Parameter{"w", float32, {3}, std::string(13, 'd')}},
                       "parameter \"w\" has 13 bytes of data, its shape and dtype require 12"}),
    [](const auto& test) { return test.param.name; });

TEST(GraphPayload, AcceptsTheMaximumRank) {
  Pieces out;

  EXPECT_TRUE(write_graph_payload(
                  {"{}", {parameter("w", std::vector<std::int64_t>(32, 1))}, "default"}, out)
                  .ok());
}

}  // namespace
}  // namespace gantry
