// SPDX-License-Identifier: Apache-2.0
#include "plugins/cuda/image.hpp"
#include "tests/unit/cuda/images.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gantry::cuda::test {
namespace {

using ::testing::ElementsAre;

// Offset of the code in the payload.
constexpr std::uint64_t base = 1000;

Result<Image> read(const Bytes& bytes) { return read_image(ByteReader(bytes, base)); }

struct Known {
  std::string name;
  Bytes bytes;
  std::string text;
  friend void PrintTo(const Known& known, std::ostream* out) { *out << known.name; }
};
class Recognised : public ::testing::TestWithParam<Known> {};
TEST_P(Recognised, AndDescribed) {
  const Result<Image> image = read(GetParam().bytes);

  ASSERT_TRUE(image.ok()) << image.error().message;
  EXPECT_EQ(image->text(), GetParam().text);
}
INSTANTIATE_TEST_SUITE_P(
    Images, Recognised,
    ::testing::Values(
        Known{"Ptx", text_bytes(ptx_text()), "PTX 8.4 for sm_75"},
        Known{"PtxWithoutComments", text_bytes(".version 6.0\n.target sm_52"), "PTX 6.0 for sm_52"},
        Known{"PtxBehindABlockComment",
              text_bytes("/* a\n * b */\n\t.version 9.0\n//x\n.target sm_90a, debug\n"),
              "PTX 9.0 for sm_90a"},
        Known{"PtxOfAFamily", text_bytes(".version 9.0\n.target sm_100f\n"), "PTX 9.0 for sm_100f"},
        Known{"PtxForACompute", text_bytes(".version 9.0\n.target compute_80\n"),
              "PTX 9.0 for sm_80"},
        Known{"PtxForSomethingElse", text_bytes(".version 9.0\n.target texmode_unified\n"),
              "PTX 9.0 for an architecture it does not name"},
        Known{"Cubin", cubin(), "cubin for sm_90"},
        Known{"CubinOfCuda13", cubin({.elf_version = 8, .flags = 0x06007802}), "cubin for sm_120"},
        Known{"Fatbin",
              fatbin({{.architecture = 75},
                      {.architecture = 90},
                      {.kind = 1, .architecture = 90, .major = 9, .minor = 0}}),
              "fatbin with cubin for sm_75, cubin for sm_90, PTX 9.0 for sm_90"},
        Known{"FatbinForLinkers", fatbin({{.kind = 16}}), "fatbin without code"},
        Known{"FatbinOfMany", fatbin(std::vector<FatbinEntry>(14)),
              "fatbin with cubin for sm_75, cubin for sm_75, cubin for sm_75, cubin for sm_75, "
              "cubin for sm_75, cubin for sm_75, cubin for sm_75, cubin for sm_75, cubin for "
              "sm_75, cubin for sm_75, cubin for sm_75, cubin for sm_75 and 2 more"}),
    [](const auto& test) { return test.param.name; });

TEST(PtxImage, ExcludesTheNulsAtItsEnd) {
  Bytes bytes = text_bytes(ptx_text());
  const std::size_t size = bytes.size();
  bytes.insert(bytes.end(), 3, 0);

  const Result<Image> image = read(bytes);

  ASSERT_TRUE(image.ok()) << image.error().message;
  EXPECT_EQ(image->code.size(), size);
}

TEST(PtxImage, MayBeginWithAnySpace) {
  for (const char space : {' ', '\t', '\n', '\v', '\f', '\r'}) {
    EXPECT_TRUE(read(text_bytes(space + ptx_text())).ok()) << static_cast<int>(space);
  }
  for (const char other : {'\b', '\x0e'}) {
    EXPECT_FALSE(read(text_bytes(other + ptx_text())).ok()) << static_cast<int>(other);
  }
}

TEST(FatbinImage, SkipsTheRestOfALongerHeader) {
  Bytes bytes = fatbin({{.architecture = 86}}, 0, 1, 24);
  bytes.insert(bytes.begin() + 16, 8, 0xee);

  const Result<Image> image = read(bytes);

  ASSERT_TRUE(image.ok()) << image.error().message;
  EXPECT_EQ(image->text(), "fatbin with cubin for sm_86");
  EXPECT_EQ(image->code.size(), bytes.size());
}

// Offsets and sizes that end exactly where the image does.
TEST(Image, AcceptsPartsThatEndWithIt) {
  EXPECT_TRUE(read(cubin({.text_at = 328, .text_size = 0, .segment_size = 0})).ok());
  EXPECT_TRUE(read(fatbin({{.size = 40, .header_size = 32}})).ok());
  EXPECT_TRUE(read(fatbin({{.size = 0, .header_size = 72}})).ok());
}

TEST(FatbinImage, EndsAtTheSizeInItsHeader) {
  Bytes bytes = fatbin({{}});
  const std::size_t size = bytes.size();
  bytes.insert(bytes.end(), 5, 0xff);

  const Result<Image> image = read(bytes);

  ASSERT_TRUE(image.ok()) << image.error().message;
  EXPECT_EQ(image->code.size(), size);
}

TEST(FatbinImage, KeepsTheOrderOfItsParts) {
  const Result<Image> image =
      read(fatbin({{.architecture = 86}, {.kind = 1, .architecture = 75, .major = 7, .minor = 4}}));

  ASSERT_TRUE(image.ok()) << image.error().message;
  EXPECT_THAT(image->parts,
              ElementsAre(ImagePart{.target = {8, 6}},
                          ImagePart{.is_ptx = true, .target = {7, 5}, .language = {7, 4}}));
}

struct Bad {
  std::string name;
  Bytes bytes;
  // Relative to the code's first byte.
  std::uint64_t offset;
  std::string reason;
  std::string message;
  friend void PrintTo(const Bad& bad, std::ostream* out) { *out << bad.name; }
};
Bytes cut(Bytes bytes, std::size_t size) {
  bytes.resize(size);
  return bytes;
}
class Refused : public ::testing::TestWithParam<Bad> {};
TEST_P(Refused, AtTheWrongField) {
  const Result<Image> image = read(GetParam().bytes);

  ASSERT_FALSE(image.ok());
  EXPECT_EQ(image.error().code, Code::malformed);
  EXPECT_EQ(image.error().message, GetParam().message);
  EXPECT_EQ(image.error().offset, base + GetParam().offset);
  EXPECT_EQ(image.error().reason, GetParam().reason);
}
INSTANTIATE_TEST_SUITE_P(
    Images, Refused,
    ::testing::Values(
        Bad{"Nothing",
            {},
            0,
            "BLOB_FORMAT",
            "code of 0 bytes begins with \"\", expected PTX text, a cubin (\"\\x7fELF\") or a "
            "fatbin (\"P\\xedU\\xba\")"},
        Bad{"Zip", text_bytes("PK\x03\x04zip"), 0, "BLOB_FORMAT",
            "code of 7 bytes begins with \"PK\\x03\\x04\", expected PTX text, a cubin "
            "(\"\\x7fELF\") or a fatbin (\"P\\xedU\\xba\")"},
        Bad{"PtxWithANulInside", text_bytes(std::string(".version 8.0\0.target sm_75", 26)), 12,
            "BLOB_FORMAT", "PTX contains a NUL at 12 of 26 bytes, expected text"},
        Bad{"PtxOfCommentsOnly", text_bytes("// ptx"), 6, "BLOB_FORMAT",
            "PTX has \"\", expected .version"},
        Bad{"PtxWithoutAnEndOfItsComment", text_bytes("/* ptx"), 6, "BLOB_FORMAT",
            "PTX has \"\", expected .version"},
        Bad{"SourceOfAnotherLanguage", text_bytes("// x\n__global__ void f() {}"), 5, "BLOB_FORMAT",
            "PTX has \"__global__\", expected .version"},
        Bad{"PtxVersionOfOneNumber", text_bytes(".version 8\n.target sm_75"), 9, "BLOB_FORMAT",
            "PTX version is \"8\", expected two numbers and a point"},
        Bad{"PtxVersionWithoutASecond", text_bytes(".version 8.x\n.target sm_75"), 9, "BLOB_FORMAT",
            "PTX version is \"8.x\", expected two numbers and a point"},
        Bad{"PtxVersionWithADash", text_bytes(".version 8-5\n.target sm_75"), 9, "BLOB_FORMAT",
            "PTX version is \"8-5\", expected two numbers and a point"},
        Bad{"PtxOfAnotherDirective", text_bytes(".versions 8.0\n.target sm_75"), 0, "BLOB_FORMAT",
            "PTX has \".versions\", expected .version"},
        Bad{"PtxThatEndsInADirective", text_bytes(".version"), 0, "BLOB_FORMAT",
            "PTX has \".version\", expected .version"},
        Bad{"PtxOfALongWord", text_bytes("/**/" + std::string(60, 'x')), 4, "BLOB_FORMAT",
            concat("PTX has \"", std::string(40, 'x'), "\", expected .version")},
        Bad{"PtxWithoutATarget", text_bytes(".version 8.0\n.address_size 64"), 13, "BLOB_FORMAT",
            "PTX has \".address_size\", expected .target"},
        Bad{"Cubin32", cubin({.elf_class = 1}), 4, "BLOB_FORMAT",
            "cubin has ELF class 1 and data 1, expected 2 and 1"},
        Bad{"CubinBigEndian", cubin({.elf_data = 2}), 4, "BLOB_FORMAT",
            "cubin has ELF class 2 and data 2, expected 2 and 1"},
        Bad{"ElfOfTheHost", cubin({.machine = 62}), 18, "BLOB_FORMAT",
            "ELF image is for machine 62, CUDA's is 190"},
        Bad{"CubinHeader", cut(cubin(), 40), 40, "BLOB_TRUNCATED",
            "cubin's section table: needs 8 bytes, 0 bytes left"},
        Bad{"CubinSectionsPastItsEnd", cubin({.section_count = 5}), 0, "BLOB_TRUNCATED",
            "cubin has 5 sections at 0x78, room for 3"},
        Bad{"CubinSectionsBehindItsEnd", cubin({.section_at = 5000}), 0, "BLOB_TRUNCATED",
            "cubin has 3 sections at 0x1388, room for 0"},
        Bad{"CubinSectionsTooSmall", cubin({.section_bytes = 40}), 0, "BLOB_FORMAT",
            "cubin sections have 40 bytes each, minimum is 64"},
        Bad{"CubinSectionsAtItsEnd", cubin({.section_at = 328}), 0, "BLOB_TRUNCATED",
            "cubin has 3 sections at 0x148, room for 0"},
        Bad{"CubinCodeBehindItsEnd", cubin({.text_at = 329, .text_size = 0}), 64, "BLOB_TRUNCATED",
            "cubin segment 0 has 16 bytes at 0x149, the cubin has 328"},
        Bad{"CubinSegmentPastItsEnd", cubin({.segment_size = 17}), 64, "BLOB_TRUNCATED",
            "cubin segment 0 has 17 bytes at 0x138, the cubin has 328"},
        Bad{"CubinCodePastItsEnd", cubin({.text_size = 17}), 120 + 64, "BLOB_TRUNCATED",
            "cubin section 1 has 17 bytes at 0x138, the cubin has 328"},
        Bad{"CubinCodeOfNearlyEverything", cubin({.text_size = UINT64_MAX}), 120 + 64,
            "BLOB_TRUNCATED",
            "cubin section 1 has 18446744073709551615 bytes at 0x138, the cubin has 328"},
        Bad{"FatbinHeader", cut(fatbin({{}}), 15), 8, "BLOB_TRUNCATED",
            "fatbin size: needs 8 bytes, 7 bytes left"},
        Bad{"FatbinVersion", fatbin({{}}, 0, 2), 4, "BLOB_FORMAT",
            "fatbin has version 2 and a header of 16 bytes, expected 1 and at least 16"},
        Bad{"FatbinHeaderSize", fatbin({{}}, 0, 1, 8), 4, "BLOB_FORMAT",
            "fatbin has version 1 and a header of 8 bytes, expected 1 and at least 16"},
        Bad{"FatbinPastItsEnd", fatbin({{}}, 1), 8, "BLOB_TRUNCATED",
            "fatbin: 73 bytes of entries, room for 72"},
        Bad{"FatbinEntryPastItsEnd", fatbin({{.size = 9}}), 16, "BLOB_TRUNCATED",
            "fatbin entry has 64 and 9 bytes, 72 are left"},
        Bad{"FatbinEntryOfNearlyEverything", fatbin({{.size = UINT64_MAX - 8}}), 16,
            "BLOB_TRUNCATED", "fatbin entry has 64 and 18446744073709551607 bytes, 72 are left"},
        Bad{"FatbinEntryHeaderTooSmall", fatbin({{.header_size = 31}}), 16, "BLOB_TRUNCATED",
            "fatbin entry has 31 and 8 bytes, 72 are left"},
        Bad{"FatbinEntryHeaderPastItsEnd", fatbin({{.header_size = 100}}), 16, "BLOB_TRUNCATED",
            "fatbin entry has 100 and 8 bytes, 72 are left"}),
    [](const auto& test) { return test.param.name; });

// A truncated image is shorter than its headers state. Text is excluded: its prefixes are text.
TEST(Image, RejectsEveryTruncationOfItsHeaders) {
  for (const Bytes& whole : {cubin(), fatbin({{}, {.architecture = 90}})}) {
    for (std::size_t size = 0; size < whole.size(); ++size) {
      EXPECT_FALSE(read(cut(whole, size)).ok()) << "accepted the first " << size << " bytes";
    }
  }
}

struct Fit {
  std::string name;
  Bytes bytes;
  Architecture device;
  std::int32_t verdict;
  friend void PrintTo(const Fit& fit, std::ostream* out) { *out << fit.name; }
};
class Verdicts : public ::testing::TestWithParam<Fit> {};
TEST_P(Verdicts, FollowTheArchitectures) {
  EXPECT_EQ(read(GetParam().bytes)->verdict(GetParam().device), GetParam().verdict);
}
const Bytes cubin86 = cubin({.flags = 86});
INSTANTIATE_TEST_SUITE_P(
    Images, Verdicts,
    ::testing::Values(
        Fit{"CubinOnItsOwn", cubin86, {8, 6}, GANTRY_VERDICT_OPTIMAL},
        Fit{"CubinOnALaterMinor", cubin86, {8, 9}, GANTRY_VERDICT_USABLE},
        Fit{"CubinOnAnEarlierMinor", cubin86, {8, 0}, GANTRY_VERDICT_NO},
        Fit{"CubinOnALaterMajor", cubin86, {9, 0}, GANTRY_VERDICT_NO},
        Fit{"CubinWithoutAnArchitecture", cubin({.flags = 0}), {8, 6}, GANTRY_VERDICT_RECOMPILE},
        Fit{"PtxOnItsOwn", text_bytes(ptx_text()), {7, 5}, GANTRY_VERDICT_RECOMPILE},
        Fit{"PtxOnALater", text_bytes(ptx_text()), {12, 0}, GANTRY_VERDICT_RECOMPILE},
        Fit{"PtxOnAnEarlier", text_bytes(ptx_text()), {7, 0}, GANTRY_VERDICT_NO},
        Fit{"PtxOfOneOnALater", text_bytes(ptx_text("8.0", "sm_90a")), {10, 0}, GANTRY_VERDICT_NO},
        Fit{"PtxOfOneOnIt",
            text_bytes(ptx_text("8.0", "sm_90a")),
            {9, 0},
            GANTRY_VERDICT_RECOMPILE},
        Fit{"PtxOfAFamilyOnIt",
            text_bytes(ptx_text("8.8", "sm_100f")),
            {10, 3},
            GANTRY_VERDICT_RECOMPILE},
        Fit{"PtxOfAFamilyOnAnother",
            text_bytes(ptx_text("8.8", "sm_100f")),
            {12, 0},
            GANTRY_VERDICT_NO},
        Fit{"PtxForSomethingElse",
            text_bytes(ptx_text("8.8", "texmode_unified")),
            {5, 0},
            GANTRY_VERDICT_RECOMPILE},
        Fit{"FatbinOfTheBestPart",
            fatbin({{.kind = 1, .architecture = 75, .major = 7}, {.architecture = 86}}),
            {8, 6},
            GANTRY_VERDICT_OPTIMAL},
        Fit{"FatbinOfPtxOnly",
            fatbin({{.kind = 1, .architecture = 75, .major = 7}, {.architecture = 86}}),
            {9, 0},
            GANTRY_VERDICT_RECOMPILE},
        Fit{"FatbinWithoutCode", fatbin({}), {9, 0}, GANTRY_VERDICT_NO}),
    [](const auto& test) { return test.param.name; });

// The parts of a fatbin are compared one by one; only PTX counts.
TEST(Image, HasLaterPtxOnlyIfItsVersionIsLater) {
  struct Compared {
    Architecture ptx, latest;
    bool is_later;
  };
  for (const auto& [ptx, latest, is_later] :
       {Compared{{7, 8}, {8, 4}, false}, Compared{{8, 3}, {8, 4}, false},
        Compared{{8, 4}, {8, 4}, false}, Compared{{8, 5}, {8, 4}, true},
        Compared{{9, 0}, {8, 4}, true}, Compared{{9, 0}, {}, false}}) {
    Image image;
    image.parts = {{.is_ptx = true, .language = {1, 0}},
                   {.is_ptx = true, .language = ptx},
                   {.is_ptx = false, .language = {99, 0}}};

    EXPECT_EQ(image.has_later_ptx(latest), is_later) << ptx.major << '.' << ptx.minor;
  }
}

}  // namespace
}  // namespace gantry::cuda::test
