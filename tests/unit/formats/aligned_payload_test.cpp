// SPDX-License-Identifier: Apache-2.0
#include "core/formats/aligned_payload.hpp"

#include "tests/support/aligned_bytes.hpp"
#include "tests/unit/formats/fixtures.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace gantry {
namespace {

using test::aligned;
using test::refused_alignment;
using test::Words;
using ::testing::ElementsAre;

constexpr auto no_numbering = Numbering::unknown;

// An array of bytes that differ from those of other arrays.
Words bytes_array(std::vector<std::int64_t> shape, std::uint8_t first) {
  std::uint64_t count = 1;
  for (const std::int64_t extent : shape) count *= static_cast<std::uint64_t>(extent);
  Words words;
  words.u64(array_record_magic).u64(0).i32(1).i32(7).i32(static_cast<std::int32_t>(shape.size()));
  words.u8(1).u8(8).u16(1);
  for (const std::int64_t extent : shape) words.i64(extent);
  words.u64(count);
  for (std::uint64_t i = 0; i < count; ++i) words.u8(static_cast<std::uint8_t>(first + i));
  return words;
}

struct List {
  std::vector<std::string_view> names;
  std::vector<Words> arrays;
};

Words payload_of(std::string_view key, const List& list, const Words& end) {
  Words payload;
  const bool is_constants = key == "const_loader" || key == "metadata";
  if (key.starts_with("Graph")) payload.str("{\"nodes\": []}");
  if (!is_constants) payload.u64(list.arrays.size());
  payload.strs(list.names);
  if (is_constants) payload.u64(list.arrays.size());
  for (const Words& array : list.arrays) payload.bytes(array.bytes());
  return payload.bytes(end.bytes());
}

Words end_of(std::string_view key) {
  const bool is_constants = key == "const_loader" || key == "metadata";
  return is_constants ? Words().strs({"f", "g"}).u64(2).strs({"a", "c"}).strs({})
                      : Words().str("m");
}

constexpr std::string_view list_keys[] = {"GraphExecutorFactory", "GraphRuntimeFactory",
                                          "AotExecutorFactory", "const_loader", "metadata"};

List small_list() {
  return {{"a", "b", "c"}, {bytes_array({3}, 1), bytes_array({}, 9), bytes_array({2, 1, 300}, 20)}};
}

// Lists of names and arrays that are read back, without fillers.
struct Found {
  std::vector<std::string> names;
  std::vector<ArrayRecord> arrays;
  std::vector<std::span<const std::uint8_t>> records;
  std::vector<std::size_t> filler_bytes;
  std::span<const std::uint8_t> end;
};

Found read_back(std::string_view key, std::span<const std::uint8_t> payload) {
  ByteReader in(payload);
  const bool is_constants = key == "const_loader" || key == "metadata";
  Found found;
  if (key.starts_with("Graph")) {
    EXPECT_EQ(in.read_string("graph").value(), "{\"nodes\": []}");
  }
  std::uint64_t count = is_constants ? 0 : in.read_u64("count").value();
  std::vector<std::string_view> names(in.read_u64("names").value());
  for (std::string_view& name : names) name = in.read_string("name").value();
  if (is_constants) count = in.read_u64("count").value();
  EXPECT_EQ(count, names.size());
  for (const std::string_view name : names) {
    const std::uint64_t begin = in.offset();
    const ArrayRecord array = read_array_record(in, "array").value();
    if (is_filler(name)) {
      found.filler_bytes.push_back(array.data.size());
      continue;
    }
    found.names.emplace_back(name);
    found.arrays.push_back(array);
    found.records.push_back(payload.subspan(begin, in.offset() - begin));
  }
  EXPECT_EQ(std::set<std::string_view>(names.begin(), names.end()).size(), names.size());
  found.end = in.rest();
  return found;
}

void expect_same(const Found& found, std::string_view key, const List& list, const Words& end) {
  EXPECT_EQ(found.names, std::vector<std::string>(list.names.begin(), list.names.end())) << key;
  ASSERT_EQ(found.records.size(), list.arrays.size()) << key;
  for (std::size_t i = 0; i < list.arrays.size(); ++i) {
    EXPECT_TRUE(std::ranges::equal(found.records[i], list.arrays[i].bytes())) << key << ' ' << i;
  }
  EXPECT_TRUE(std::ranges::equal(found.end, end.bytes())) << key;
}

TEST(AlignedPayload, PlacesTheDataOfNamedArrays) {
  for (const std::string_view key : list_keys) {
    const List list = small_list();
    const Words payload = payload_of(key, list, end_of(key));
    for (const std::uint64_t alignment : {1, 64, 128, 4096, 65536}) {
      for (const std::uint64_t position : {0, 1, 63, 64, 127, 5000}) {
        const auto bytes = aligned(key, payload.bytes(), no_numbering, position, alignment);

        ASSERT_TRUE(bytes.ok()) << key << ": " << bytes.error().message;
        const Found found = read_back(key, *bytes);
        expect_same(found, key, list, end_of(key));
        for (const ArrayRecord& array : found.arrays) {
          EXPECT_EQ((position + array.data_at) % alignment, 0u) << key << " at " << position;
        }
        for (const std::size_t size : found.filler_bytes) EXPECT_LE(size, alignment);
      }
    }
  }
}

TEST(AlignedPayload, PlacesDataOf64KiBAtAPage) {
  const List list{{"a", "b", "c"},
                  {bytes_array({65535}, 1), bytes_array({65536}, 2), bytes_array({70000}, 3)}};
  const Words payload = payload_of("AotExecutorFactory", list, Words().str("m"));
  for (const std::uint64_t position : {0, 100, 4095}) {
    const auto bytes = aligned("AotExecutorFactory", payload.bytes(), no_numbering, position);

    ASSERT_TRUE(bytes.ok());
    const Found found = read_back("AotExecutorFactory", *bytes);
    expect_same(found, "AotExecutorFactory", list, Words().str("m"));
    ASSERT_EQ(found.arrays.size(), 3u);
    EXPECT_EQ((position + found.arrays[0].data_at) % 128, 0u);
    EXPECT_LE(found.filler_bytes[0], 128u);
    EXPECT_EQ((position + found.arrays[1].data_at) % 4096, 0u);
    EXPECT_EQ((position + found.arrays[2].data_at) % 4096, 0u);
    EXPECT_LE(found.filler_bytes[2], 4096u);
  }
}

TEST(AlignedPayload, IsTheSameWhenItIsAlignedTwice) {
  for (const std::string_view key : list_keys) {
    const Words payload = payload_of(key, small_list(), end_of(key));
    const auto once = aligned(key, payload.bytes(), no_numbering, 40);
    ASSERT_TRUE(once.ok());

    const auto twice = aligned(key, *once, no_numbering, 40);
    const auto moved = aligned(key, *once, no_numbering, 41);

    ASSERT_TRUE(twice.ok() && moved.ok());
    EXPECT_EQ(*twice, *once) << key;
    EXPECT_EQ(*moved, aligned(key, payload.bytes(), no_numbering, 41).value()) << key;
  }
}

TEST(AlignedPayload, IsWrittenFromThePayloadWithoutCopies) {
  const List list{{"a"}, {bytes_array({100000}, 1)}};
  const Words payload = payload_of("GraphExecutorFactory", list, Words().str("m"));
  test::CollectedBytes out(payload.bytes());

  ASSERT_TRUE(write_aligned_payload("GraphExecutorFactory", payload.bytes(), {}, {out}).ok());

  EXPECT_GE(out.from_source, 100000u);
}

TEST(AlignedPayload, OfOtherKeysIsUnchanged) {
  const Words payload = test::device_code("ptx", "//ptx");
  for (const std::string_view key : {"cuda", "acme.npu", "metadata_module", "static_library"}) {
    const auto bytes = aligned(key, payload.bytes(), no_numbering, 5);

    ASSERT_TRUE(bytes.ok());
    EXPECT_TRUE(std::ranges::equal(*bytes, payload.bytes())) << key;
  }
}

TEST(AlignedPayload, WithoutArraysHasNoFillers) {
  for (const std::string_view key : list_keys) {
    const Words payload = payload_of(key, {}, end_of(key));

    const auto bytes = aligned(key, payload.bytes(), no_numbering);

    ASSERT_TRUE(bytes.ok());
    EXPECT_TRUE(std::ranges::equal(*bytes, payload.bytes())) << key;
  }
}

TEST(AlignedPayload, HasAnAlignmentThatIsAPowerOfTwo) {
  for (const std::uint64_t alignment : {0, 3, 96, 131072}) {
    const Error error = refused_alignment("cuda", {}, no_numbering, alignment);

    EXPECT_EQ(error.code, Code::invalid);
    EXPECT_EQ(error.message,
              concat("alignment is ", alignment, ", expected a power of two up to 65536"));
  }
}

TEST(AlignedPayload, IsRefusedIfItIsTruncated) {
  for (const std::string_view key : list_keys) {
    const Words payload = payload_of(key, small_list(), end_of(key));
    for (std::size_t size = 0; size < payload.size(); ++size) {
      const Error error = refused_alignment(key, payload.bytes().first(size), no_numbering);

      ASSERT_EQ(error.code, Code::malformed) << key << ' ' << size << ": " << error.message;
      EXPECT_LE(error.offset, size);
    }
  }
}

struct WrongList {
  std::string name;
  std::string_view key;
  Words payload;
  std::uint64_t at;
  std::string message;
};
class AlignedPayloadRefuses : public ::testing::TestWithParam<WrongList> {};

TEST_P(AlignedPayloadRefuses, Lists) {
  const Error error = refused_alignment(GetParam().key, GetParam().payload.bytes(), no_numbering);

  EXPECT_EQ(error.code, Code::malformed);
  EXPECT_EQ(error.offset, GetParam().at);
  EXPECT_EQ(error.message, GetParam().message);
}

Words with_bytes_after(std::string_view key) { return payload_of(key, {}, end_of(key)).u8(0); }

INSTANTIATE_TEST_SUITE_P(
    Cases, AlignedPayloadRefuses,
    ::testing::Values(
        WrongList{"WithMoreNamesThanArrays", "AotExecutorFactory",
                  Words().u64(1).strs({"a", "b"}).str("m"), 8,
                  "parameter names are 2, the count at 0x0 is 1"},
        WrongList{"OfConstantsWithFewerNamesThanArrays", "const_loader",
                  Words().strs({"a"}).u64(2).u64(0).u64(0), 17,
                  "constants are 2, the constant names are 1"},
        WrongList{"WhoseConstantHasTheNameOfAFiller", "const_loader",
                  Words().u64(0).u64(0).strs({"f"}).u64(1).strs({"__gantry_fill_0"}), 49,
                  "symbol 0 uses constant \"__gantry_fill_0\", but names with \"__gantry_fill_\" "
                  "are those of fillers"},
        WrongList{"WithBytesAfterTheModuleName", "AotExecutorFactory",
                  with_bytes_after("AotExecutorFactory"), 25,
                  "payload has 1 bytes after its last field"},
        WrongList{"WithBytesAfterTheUsers", "metadata", with_bytes_after("metadata"), 84,
                  "payload has 1 bytes after its last field"},
        WrongList{"WithAnotherMagic", "AotExecutorFactory", Words().u64(1).strs({"a"}).u64(7), 25,
                  "parameter: magic is 0x7, expected 0xdd5e40f096b4a13f\n  in \"a\""}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace gantry
