// SPDX-License-Identifier: Apache-2.0
#include "core/formats/aot_metadata.hpp"

#include "tests/support/aot_image.hpp"

#include <gantry/concat.hpp>

#include <gmock/gmock.h>

#include <functional>

namespace gantry {
namespace {

using test::AotImage;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

MemoryImage image_of(const AotImage& image, std::uint64_t base = 0) {
  return MemoryImage({{AotImage::base, image.bytes}}, base);
}

TEST(AotMetadata, AreReadFromMemory) {
  const AotImage image;
  const auto memory = image_of(image);

  const auto metadata = read_aot_metadata(memory, AotImage::base);

  ASSERT_TRUE(metadata.ok()) << metadata.error().message;
  EXPECT_EQ(metadata->module_name, "tvmgen_default");
  EXPECT_EQ(metadata->function(), "tvmgen_default___tvm_main__");
  ASSERT_EQ(metadata->inputs.size(), 2u);
  EXPECT_EQ(metadata->inputs[0].name, "x");
  EXPECT_THAT(metadata->inputs[0].shape, ElementsAre(1, 64));
  EXPECT_EQ(metadata->inputs[0].bytes, 256u);
  EXPECT_THAT(metadata->inputs[1].shape, IsEmpty());
  EXPECT_EQ(metadata->inputs[1].bytes, 4u);
  ASSERT_EQ(metadata->outputs.size(), 1u);
  EXPECT_EQ(metadata->outputs[0].dtype.code, 0);
  EXPECT_EQ(metadata->outputs[0].bytes, 10u);
  ASSERT_EQ(metadata->workspaces.size(), 1u);
  EXPECT_EQ(metadata->workspaces[0].bytes, 256u);
  ASSERT_EQ(metadata->constants.size(), 1u);
  EXPECT_EQ(metadata->constants[0].name, "c");
  EXPECT_EQ(metadata->constants[0].offset, 128u);
  EXPECT_EQ(metadata->constant_bytes, 136u);
}

TEST(AotMetadata, IgnoreThePointerOfAnEmptyList) {
  AotImage image;
  for (const std::uint64_t list : {8, 24, 40, 56}) {
    image.set(list, 3);
    image.set(list + 8, 0);
  }

  const auto metadata = read_aot_metadata(image_of(image), AotImage::base);

  ASSERT_TRUE(metadata.ok()) << metadata.error().message;
  EXPECT_THAT(metadata->inputs, IsEmpty());
  EXPECT_THAT(metadata->constants, IsEmpty());
  EXPECT_EQ(metadata->constant_bytes, 0u);
}

// Offsets of words of the image.
constexpr std::uint64_t input = AotImage::inputs - AotImage::base,
                        constant = AotImage::constants - AotImage::base;

struct WrongWord {
  std::string name;
  std::function<void(AotImage&)> change;
  std::uint64_t offset;
  std::string message;
  Code code = Code::malformed;
  std::string reason = "AOT_METADATA";
  friend void PrintTo(const WrongWord& wrong, std::ostream* out) { *out << wrong.name; }
};

std::function<void(AotImage&)> with(std::uint64_t at, std::uint64_t word) {
  return [=](AotImage& image) { image.set(at, word); };
}

// Replaces the constants by copies of the first with one name of this length.
void add_constants(AotImage& image, std::uint64_t count, std::size_t name_bytes) {
  image.set(constant, image.add_text(std::string(name_bytes, 'a')));
  const auto first = image.bytes.begin() + static_cast<std::ptrdiff_t>(constant);
  const std::vector<std::uint8_t> item(first, first + 32);
  std::vector<std::uint8_t> items;
  for (std::uint64_t i = 0; i < count; ++i) items.insert(items.end(), item.begin(), item.end());
  image.set(56, image.add(items));
  image.set(64, count);
}

// Constants need not be in the order of their offsets.
TEST(AotMetadata, HaveAPoolUpToTheLargestEndOfAConstant) {
  AotImage image;
  add_constants(image, 2, 1);
  const std::uint64_t second = image.word(56) - AotImage::base + 32;
  image.set(second + 8, 0);

  const auto metadata = read_aot_metadata(image_of(image), AotImage::base);

  ASSERT_TRUE(metadata.ok()) << metadata.error().message;
  ASSERT_EQ(metadata->constants.size(), 2u);
  EXPECT_EQ(metadata->constants[0].offset, 128u);
  EXPECT_EQ(metadata->constants[1].offset, 0u);
  EXPECT_EQ(metadata->constant_bytes, 136u);
}

class AotMetadataRefuse : public ::testing::TestWithParam<WrongWord> {};
TEST_P(AotMetadataRefuse, AWrongWord) {
  const WrongWord& wrong = GetParam();
  AotImage image;
  wrong.change(image);

  const auto metadata = read_aot_metadata(image_of(image), AotImage::base);

  ASSERT_FALSE(metadata.ok());
  EXPECT_EQ(metadata.error().code, wrong.code);
  EXPECT_EQ(metadata.error().offset, wrong.offset);
  EXPECT_EQ(metadata.error().message, wrong.message);
  EXPECT_EQ(metadata.error().reason, wrong.reason);
}
INSTANTIATE_TEST_SUITE_P(
    Words, AotMetadataRefuse,
    ::testing::Values(
        WrongWord{"Version", with(0, 2), 0x1000, "metadata of the model have version 2, expected 1",
                  Code::unsupported},
        WrongWord{"NegativeCount", with(16, UINT64_MAX), 0x1010,
                  "number of inputs is -1, range is 0 to 4096"},
        WrongWord{"CountTooLarge", with(48, 4097), 0x1030,
                  "number of workspaces is 4097, range is 0 to 4096"},
        WrongWord{"CountWithoutRoom", with(32, 4096), AotImage::outputs,
                  "4096 outputs at 0x1090 have 128.0 KiB (131072 bytes), 240 bytes left in the "
                  "library's memory"},
        WrongWord{"ListOutside", with(56, 0x10), 0x10,
                  "1 constants are at 0x10, which is not in the library's memory"},
        WrongWord{"NullName", with(72, 0), 0,
                  "module name is at 0x0, which is not in the library's memory"},
        WrongWord{"TensorNameOutside", with(input + 32, 0x100000), 0x100000,
                  "name of input 1 is at 0x100000, which is not in the library's memory"},
        WrongWord{
            "TextWithoutEnd",
            [](AotImage& image) { image.set(72, image.add(std::vector<std::uint8_t>(40, 'a'))); },
            0x1180, "module name at 0x1180 has no end in 40 bytes"},
        WrongWord{
            "TextTooLong",
            [](AotImage& image) { image.set(72, image.add(std::vector<std::uint8_t>(9000, 'a'))); },
            0x1180, "module name at 0x1180 has no end in 4096 bytes"},
        WrongWord{"TextNotUtf8", [](AotImage& image) { image.set(72, image.add_text("\xff")); },
                  0x1180, "module name at 0x1180 is not UTF-8"},
        WrongWord{"NamesTooLong", [](AotImage& image) { add_constants(image, 257, 4090); }, 0x1180,
                  "names up to the name of constant 256 have 1.0 MiB (1051138 bytes), maximum is "
                  "1.0 MiB (1048576 bytes)"},
        WrongWord{"NameOfAnotherInput",
                  [](AotImage& image) { image.set(input + 32, image.word(input)); },
                  AotImage::inputs + 32, "input 1 has the name \"x\" of input 0"},
        WrongWord{"NegativeRank", with(input + 16, UINT64_MAX), 0x1060,
                  "rank of input 0 is -1, range is 0 to 32"},
        WrongWord{"RankTooLarge", with(input + 16, 33), 0x1060,
                  "rank of input 0 is 33, range is 0 to 32"},
        WrongWord{"ShapeOutside", with(input + 8, 8), 8,
                  "dimensions of input 0 are at 0x8, which is not in the library's memory"},
        WrongWord{"NoBits", with(input + 24, 0x10002), 0x1068,
                  "dtype of input 0 has 0 bits and 1 lanes, minimum is 1"},
        WrongWord{"NoLanes", with(input + 24, 0x2002), 0x1068,
                  "dtype of input 0 has 32 bits and 0 lanes, minimum is 1"},
        WrongWord{"Handle", with(input + 24, 0x14003), 0x1068,
                  "input 0: dtype has code 3, an address, which has no meaning in a file",
                  Code::unsupported, "ARRAY_RECORD"},
        WrongWord{
            "NegativeDimension",
            [](AotImage& image) { image.set(image.word(input + 8) - AotImage::base, UINT64_MAX); },
            0x1108, "shape of input 0: dimension 0 is -1, minimum is 0"},
        WrongWord{"RecordTooShort", with(constant + 16, 50), 0x1178,
                  "constant 0 data: needs 8 bytes, 2 bytes left", Code::malformed,
                  "BLOB_TRUNCATED"},
        WrongWord{"RecordOutside", with(constant + 16, 1000), 0x1148,
                  "bytes of constant 0 at 0x1148 have 1000 bytes, 56 bytes left in the library's "
                  "memory"},
        WrongWord{"ConstantFar", with(constant + 8, 0x80000000), AotImage::constants + 8,
                  "constant 0 has 8 bytes at offset 2147483648 of its pool, whose maximum is "
                  "2.0 GiB (2147483647 bytes)"}),
    [](const auto& test) { return test.param.name; });

TEST(AotMetadata, HaveAMebibyteOfNames) {
  AotImage image;
  add_constants(image, 256, 4090);

  EXPECT_TRUE(read_aot_metadata(image_of(image), AotImage::base).ok());
}

TEST(AotMetadata, HaveAddressesRelativeToTheLibraryInErrors) {
  AotImage image;
  image.set(16, 4097);

  const auto metadata = read_aot_metadata(image_of(image, 0x1000), AotImage::base);

  EXPECT_EQ(metadata.error().offset, 0x10u);
}

TEST(AotMetadata, AreRejectedAtTheEndOfMemory) {
  AotImage image;
  EXPECT_EQ(read_aot_metadata(image_of(image), AotImage::base + image.bytes.size()).error().message,
            "metadata are at 0x1180, which is not in the library's memory");
  for (std::size_t size = 0; size < 80; ++size) {
    const MemoryImage memory({{AotImage::base, std::span(image.bytes).first(size)}});
    EXPECT_EQ(read_aot_metadata(memory, AotImage::base).error().code, Code::malformed);
  }
}

// Words that contain addresses, as the relocations of a library list them.
std::vector<std::uint64_t> pointers_of(const AotImage& image) {
  std::vector<std::uint64_t> pointers;
  for (std::uint64_t at = 0; at + 8 <= image.bytes.size(); at += 8) {
    const std::uint64_t word = image.word(at);
    if (word >= AotImage::base && word < AotImage::base + image.bytes.size())
      pointers.push_back(AotImage::base + at);
  }
  return pointers;
}
bool is_default(std::string_view name) { return name == "tvmgen_default___tvm_main__"; }

TEST(AotMetadata, AreFoundAmongData) {
  const AotImage image;
  const auto pointers = pointers_of(image);

  EXPECT_EQ(find_aot_metadata(image_of(image), pointers, is_default), AotImage::base);
  EXPECT_EQ(find_aot_metadata(image_of(image), pointers, [](auto) { return false; }), std::nullopt);
  EXPECT_EQ(find_aot_metadata(image_of(image), {}, is_default), std::nullopt);
}

TEST(AotMetadata, AreNotFoundIfSeveralDescribeTheFunction) {
  AotImage image;
  image.add(std::vector<std::uint8_t>(image.bytes.begin(), image.bytes.begin() + 80));

  EXPECT_EQ(find_aot_metadata(image_of(image), pointers_of(image), is_default), std::nullopt);
}

TEST(AotMetadata, AreNotSearchedWithoutEnd) {
  AotImage image;
  for (int i = 0; i < 64; ++i) {
    std::vector<std::uint8_t> broken(image.bytes.begin(), image.bytes.begin() + 80);
    broken[16] = 0xff;
    image.add(broken);
  }

  EXPECT_EQ(find_aot_metadata(image_of(image), pointers_of(image), is_default), std::nullopt);
}

TEST(MemoryImage, DoesNotReadAcrossRanges) {
  const std::vector<std::uint8_t> first(16), second(16);
  const MemoryImage image({{0x2000, second}, {0x1000, first}});

  EXPECT_EQ(image.bytes_from(0x1008).size(), 8u);
  EXPECT_EQ(image.bytes_from(0x1010).size(), 0u);
  EXPECT_EQ(image.bytes_from(0xfff).size(), 0u);
  EXPECT_EQ(image.bytes_from(0x2000).data(), second.data());
  EXPECT_TRUE(image.bytes(0x1000, 16, "bytes").ok());
  EXPECT_EQ(image.bytes(0x1000, 17, "bytes").error().message,
            "bytes at 0x1000 have 17 bytes, 16 bytes left in the library's memory");
}

}  // namespace
}  // namespace gantry
