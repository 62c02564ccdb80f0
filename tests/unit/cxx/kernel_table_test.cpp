// SPDX-License-Identifier: Apache-2.0
#include <gantry/kernel_table.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/words.hpp"

namespace gantry {
namespace {

using test::Words;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Tags = std::vector<std::int32_t>;

// One kernel as bytes. Each field can be set to a wrong value.
struct KernelBytes {
  std::string name = "add";
  std::string stored_name = "";
  std::vector<gantry_dtype> parameters = {{3, 64, 1}, {0, 32, 1}};
  std::vector<std::string_view> launch_tags = {"blockIdx.x"};
  std::optional<Tags> argument_tags = std::nullopt;

  void append_to(Words& words) const {
    words.str(name).str(stored_name).u64(parameters.size());
    for (const gantry_dtype& p : parameters) words.u8(p.code).u8(p.bits).u16(p.lanes);
    words.strs(launch_tags);
    if (!argument_tags) return;
    words.u64(argument_tags->size());
    for (const std::int32_t tag : *argument_tags) words.i32(tag);
  }
};

Words table_of(const std::vector<KernelBytes>& kernels) {
  Words words;
  words.u64(kernels.size());
  for (const KernelBytes& kernel : kernels) kernel.append_to(words);
  return words;
}

// For tables whose layout is known: `rest` must not be called.
Status no_rest(ByteReader&) { return bug("rest of the payload is asked for"); }

// Reads what follows in cuda and opencl payloads: one string, then the end.
Status one_string(ByteReader& in) {
  GANTRY_CHECK(in.read_string("data"));
  if (!in.at_end()) return malformed(in.offset(), "payload has ", in.left(), " bytes too many");
  return {};
}

TEST(KernelTable, KeepsTheOrderOfTheFileAndFindsByName) {
  const Words words =
      table_of({{.name = "mul", .stored_name = "mul"}, {.name = "add"}}).u64(0xfeed);
  ByteReader in(words.bytes());

  const Result<KernelTable> table = read_kernel_table(in, ArgumentTags::no, no_rest);

  ASSERT_TRUE(table.ok()) << table.error().message;
  ASSERT_EQ(table->size(), 2u);
  EXPECT_EQ(table->kernels()[0].name, "mul");
  EXPECT_EQ(table->kernels()[0].stored_name, "mul");
  EXPECT_EQ(table->kernels()[1].name, "add");
  EXPECT_EQ(table->kernels()[1].stored_name, "");
  EXPECT_EQ(table->find("add"), &table->kernels()[1]);
  EXPECT_EQ(table->find("sub"), nullptr);
  EXPECT_EQ(in.read_u64("next").value(), 0xfeedu);
}

TEST(KernelTable, ReadsParametersAndTags) {
  const Words words =
      table_of({{.launch_tags = {"blockIdx.x", "threadIdx.x"}, .argument_tags = Tags{1, 0}}});
  ByteReader in(words.bytes());

  const KernelTable table = read_kernel_table(in, ArgumentTags::yes, no_rest).value();

  const KernelInfo& kernel = table.kernels()[0];
  ASSERT_EQ(kernel.parameters.size(), 2u);
  EXPECT_EQ(kernel.parameters[0].code, 3);
  EXPECT_EQ(kernel.parameters[0].bits, 64);
  EXPECT_EQ(kernel.parameters[1].lanes, 1);
  EXPECT_THAT(kernel.launch_tags, ElementsAre("blockIdx.x", "threadIdx.x"));
  EXPECT_THAT(*kernel.argument_tags, ElementsAre(1, 0));
  EXPECT_TRUE(kernel.is_tensor_map(0));
  EXPECT_FALSE(kernel.is_tensor_map(1));
  EXPECT_FALSE(kernel.is_tensor_map(2));
  EXPECT_TRUE(in.at_end());
}

// webgpu and kernels of other compilers have an empty field.
TEST(KernelTable, AcceptsAnEmptyListOfArgumentTags) {
  const Words words = table_of({{.argument_tags = Tags{}}});
  ByteReader in(words.bytes());

  const KernelTable table = read_kernel_table(in, ArgumentTags::yes, no_rest).value();

  EXPECT_THAT(*table.kernels()[0].argument_tags, IsEmpty());
  EXPECT_FALSE(table.kernels()[0].is_tensor_map(0));
}

TEST(KernelTable, ReadsFromTheBlobWhetherThereAreArgumentTags) {
  gantry_blob blob{};
  EXPECT_EQ(argument_tags_of(blob), ArgumentTags::unknown);
  blob.argument_tags = GANTRY_ARGUMENT_TAGS_NO;
  EXPECT_EQ(argument_tags_of(blob), ArgumentTags::no);
  blob.argument_tags = GANTRY_ARGUMENT_TAGS_YES;
  EXPECT_EQ(argument_tags_of(blob), ArgumentTags::yes);
}

TEST(KernelTable, TreatsANumberOfANewerHostAsUnknown) {
  gantry_blob blob{};
  blob.argument_tags = 3;

  EXPECT_EQ(argument_tags_of(blob), ArgumentTags::unknown);
}

TEST(KernelTable, DistinguishesTheLayoutsByTheRestOfThePayload) {
  for (const bool has_tags : {false, true}) {
    KernelBytes kernel;
    if (has_tags) kernel.argument_tags = Tags{0, 0};
    const Words words = table_of({kernel}).str("code");
    ByteReader in(words.bytes());

    const Result<KernelTable> table = read_kernel_table(in, ArgumentTags::unknown, one_string);

    ASSERT_TRUE(table.ok()) << table.error().message;
    EXPECT_EQ(table->kernels()[0].argument_tags.has_value(), has_tags);
    EXPECT_EQ(in.read_string("data").value(), "code");
  }
}

TEST(KernelTable, IsUnambiguousWithoutKernels) {
  const Words words = table_of({}).str("code");
  ByteReader in(words.bytes());

  const Result<KernelTable> table = read_kernel_table(in, ArgumentTags::unknown, one_string);

  ASSERT_TRUE(table.ok());
  EXPECT_EQ(table->size(), 0u);
  EXPECT_EQ(in.read_string("data").value(), "code");
}

TEST(KernelTable, RejectsATableThatFitsBothLayouts) {
  const Words words = table_of({{.parameters = {}}}).u64(0);
  ByteReader in(words.bytes());

  const Result<KernelTable> table =
      read_kernel_table(in, ArgumentTags::unknown, [](ByteReader&) { return Status(); });

  ASSERT_FALSE(table.ok());
  EXPECT_EQ(table.error().code, Code::malformed);
  EXPECT_EQ(table.error().offset, 0u);
  EXPECT_EQ(table.error().reason, "KERNEL_TABLE");
  EXPECT_EQ(table.error().message, "kernel table reads both with and without argument tags");
}

// With argument tags, their count is 4, which is wrong. Without them, the string fits and one byte
// is left.
TEST(KernelTable, ReturnsTheErrorWithTheHigherOffset) {
  const Words words = table_of({{}}).str("code").u8(0);
  ByteReader in(words.bytes());

  const Result<KernelTable> table = read_kernel_table(in, ArgumentTags::unknown, one_string);

  ASSERT_FALSE(table.ok());
  EXPECT_EQ(table.error().offset, words.size() - 1);
  EXPECT_EQ(table.error().message, "payload has 1 bytes too many");
}

struct BadTable {
  std::string name;
  Words words;
  std::uint64_t offset;
  std::string reason;
  std::string message;
};
void PrintTo(const BadTable& bad, std::ostream* out) { *out << bad.name; }

class KernelTableRefuses : public ::testing::TestWithParam<BadTable> {};

TEST_P(KernelTableRefuses, AtTheWrongField) {
  const BadTable& bad = GetParam();
  ByteReader in(bad.words.bytes());

  const Result<KernelTable> table = read_kernel_table(in, ArgumentTags::yes, no_rest);

  ASSERT_FALSE(table.ok());
  EXPECT_EQ(table.error().code, Code::malformed);
  EXPECT_EQ(table.error().offset, bad.offset);
  EXPECT_EQ(table.error().reason, bad.reason);
  EXPECT_EQ(table.error().message, bad.message);
}

using namespace std::string_literals;

// "add" ends at 19, its stored name at 27, the parameters at 43, the one tag at 69.
INSTANTIATE_TEST_SUITE_P(
    All, KernelTableRefuses,
    ::testing::Values(
        BadTable{"CountPastTheEnd", Words().u64(2).text(std::string(79, 'k')), 0, "BLOB_TRUNCATED",
                 "kernel table: count 2, room for 1"},
        BadTable{"NoName", table_of({{.name = "", .argument_tags = Tags{0, 0}}}), 8, "KERNEL_TABLE",
                 "kernel \"\": name is empty"},
        BadTable{"NulInName", table_of({{.name = "a\0b"s, .argument_tags = Tags{0, 0}}}), 8,
                 "KERNEL_TABLE", "kernel \"a\\x00b\": name contains a NUL"},
        BadTable{"NameTwice",
                 table_of({{.argument_tags = Tags{0, 0}}, {.argument_tags = Tags{0, 0}}}), 85,
                 "KERNEL_TABLE", "kernel \"add\": name occurs twice"},
        BadTable{"ParametersPastTheEnd",
                 Words().u64(1).str("add").str("").u64(1u << 30).text(std::string(32, 'p')), 27,
                 "BLOB_TRUNCATED", "kernel parameters: count 1073741824, room for 8"},
        BadTable{"TagsPastTheEnd",
                 Words().u64(1).str("add").str("").u64(0).u64(9).text(std::string(16, 't')), 35,
                 "BLOB_TRUNCATED", "launch tags: count 9, room for 2"},
        BadTable{"OtherNumberOfArgumentTags", table_of({{.argument_tags = Tags{0}}}), 69,
                 "KERNEL_TABLE", "kernel \"add\": argument tag count is 1, expected 0 or 2"},
        BadTable{"UnknownArgumentTag", table_of({{.argument_tags = Tags{0, 2}}}), 81,
                 "KERNEL_TABLE", "kernel \"add\": argument tag 1 is 2, known are 0 and 1"}),
    [](const auto& test) { return test.param.name; });

TEST(KernelTable, RefusesEveryTruncation) {
  const Words whole =
      table_of({{.argument_tags = Tags{0, 1}}, {.name = "mul", .argument_tags = Tags{}}});
  for (std::size_t size = 0; size < whole.size(); ++size) {
    ByteReader in(whole.bytes().first(size));
    EXPECT_FALSE(read_kernel_table(in, ArgumentTags::yes, no_rest).ok())
        << "accepted the first " << size << " bytes";
  }
}

}  // namespace
}  // namespace gantry
