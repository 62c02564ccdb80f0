// SPDX-License-Identifier: Apache-2.0
//
// Sizes, the directory and the end record of an archive.
#include "core/formats/arrays/npz.hpp"

#include "tests/unit/arrays/npz_reading.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace gantry {
namespace {

using test::Bytes;
using test::deflated;
using test::npy;
using test::read_first;
using test::sized;
using test::zip_of;
using test::ZipPart;
using ::testing::ElementsAre;

struct BadZip {
  const char* name;
  std::vector<ZipPart> parts;
  Code code;
  std::uint64_t offset;
  std::string message;
};

constexpr Code kBad = Code::malformed, kNotOurs = Code::unsupported;

class NpzRefuses : public ::testing::TestWithParam<BadZip> {};

TEST_P(NpzRefuses, BeforeUnpackingAnything) {
  const Bytes archive = zip_of(GetParam().parts);

  const Result<NpzReader> npz = NpzReader::over(archive);

  ASSERT_FALSE(npz.ok());
  EXPECT_EQ(npz.error().code, GetParam().code);
  EXPECT_EQ(npz.error().reason, "NPZ");
  EXPECT_EQ(npz.error().message, GetParam().message);
  EXPECT_EQ(npz.error().offset, GetParam().offset);
}

INSTANTIATE_TEST_SUITE_P(
    Members, NpzRefuses,
    ::testing::Values(
        BadZip{"Twice",
               {{"a.npy", npy("x")}, {"a.npy", npy("y")}},
               kBad,
               379,
               "npz member \"a.npy\" occurs twice"},
        BadZip{"Encrypted",
               {{"a.npy", npy("x"), 0, 1}},
               kNotOurs,
               164,
               "npz member \"a.npy\" is encrypted"},
        BadZip{"StronglyEncrypted",
               {{"a.npy", npy("x"), 0, 1 << 6}},
               kNotOurs,
               164,
               "npz member \"a.npy\" is encrypted"},
        BadZip{"EncryptedDirectory",
               {{"a.npy", npy("x"), 0, 1 << 13}},
               kNotOurs,
               164,
               "npz member \"a.npy\" is encrypted"},
        BadZip{"NoNpy",
               {{"re\x1b[2Jadme", npy("x")}},
               kNotOurs,
               169,
               "npz member \"re\\x1b[2Jadme\" is not an .npy file"},
        BadZip{"Bzip2",
               {{"a.npy", npy("x"), 12}},
               kNotOurs,
               164,
               "npz member \"a.npy\": compression is 12, known are 0 (stored) and 8 (deflate)"},
        BadZip{"PackedPastTheDirectory",
               {sized(0, 129, 129)},
               kBad,
               163,
               "npz member \"a.npy\": packed size is 129 after a header of 35, room for 163 at "
               "offset 0"},
        BadZip{"HeaderPastTheDirectory",
               {{.name = "a.npy", .bytes = npy("x"), .header_at = 5000}},
               kBad,
               164,
               "npz member \"a.npy\": packed size is 129 after a header of 35, room for 0 at "
               "offset 5000"},
        BadZip{"NoRoomForTheHeader",
               {{.name = "a.npy", .bytes = npy("x"), .packed_size = 0, .header_at = 130}},
               kBad,
               164,
               "npz member \"a.npy\": packed size is 0 after a header of 35, room for 34 at "
               "offset 130"},
        BadZip{"Overlapping",
               {{"a.npy", npy("x")}, {.name = "b.npy", .bytes = npy("y"), .header_at = 100}},
               kBad,
               328,
               "npz member \"a.npy\": packed size is 129 after a header of 35, room for 100 at "
               "offset 0"},
        BadZip{"OneHeaderForTwoMembers",
               {{"a.npy", npy("x")}, {.name = "b.npy", .bytes = npy("y"), .header_at = 0}},
               kBad,
               379,
               "npz member \"b.npy\": packed size is 129 after a header of 35, room for 0 at "
               "offset 0"},
        BadZip{"StoredSizesDiffer",
               {sized(0, 129, 128)},
               kBad,
               163,
               "npz member \"a.npy\" is stored: size is 129 bytes, packed size is 128 bytes"},
        BadZip{"Bomb",
               {sized(8, 4000000000, 10)},
               kBad,
               35 + deflated(npy("")).size(),
               "npz member \"a.npy\": size is 3.7 GiB (4000000000 bytes), deflate gives 10 bytes "
               "at most 1032 "
               "times over"},
        BadZip{"ExtraFieldPastItsRoom",
               {{.name = "a.npy", .bytes = npy("x"), .extra = {7, 0, 9, 0, 1}}},
               kBad,
               219,
               "npz extra field: needs 9 bytes, 1 bytes left\n"
               "  while reading directory entry 0 of 1"},
        BadZip{"Zip64FieldWithoutASize",
               {{.name = "a.npy",
                 .bytes = npy("x"),
                 .size = 0xffffffff,
                 .extra = {1, 0, 4, 0, 1, 2, 3, 4}}},
               kBad,
               219,
               "npz zip64 field: needs 8 bytes, 4 bytes left\n"
               "  while reading directory entry 0 of 1"}),
    [](const auto& test) { return test.param.name; });

// One byte of an archive of one member: its local header begins at 0, its data at 35, the directory
// at 164, the end record at 215.
struct BadByte {
  const char* name;
  std::size_t at;
  std::uint8_t value;
  std::uint64_t offset;
  std::string message;
};

class NpzDirectory : public ::testing::TestWithParam<BadByte> {};

TEST_P(NpzDirectory, IsRefusedAtTheWrongByte) {
  Bytes archive = zip_of({{"a.npy", npy("x")}});
  archive[GetParam().at] = GetParam().value;

  const Result<NpzReader> npz = NpzReader::over(archive);

  ASSERT_FALSE(npz.ok());
  EXPECT_EQ(npz.error().code, Code::malformed);
  EXPECT_EQ(npz.error().reason, "NPZ");
  EXPECT_EQ(npz.error().message, GetParam().message);
  EXPECT_EQ(npz.error().offset, GetParam().offset);
}

const std::string kInEntry = "\n  while reading directory entry 0 of 1";

INSTANTIATE_TEST_SUITE_P(
    Fields, NpzDirectory,
    ::testing::Values(
        BadByte{"Disk", 219, 1, 215,
                "npz is one of several files: disk is 1, disk of the directory is 0, expected 0"},
        BadByte{"DirectoryDisk", 221, 2, 215,
                "npz is one of several files: disk is 0, disk of the directory is 2, expected 0"},
        BadByte{"Count", 225, 2, 215, "npz has 2 members, room for 1"},
        BadByte{"CountIsTooSmall", 225, 0, 164, "npz directory: 51 bytes follow its 0 members"},
        BadByte{"DirectorySize", 227, 50, 215,
                "npz directory: offset is 164, size is 50, expected to end at 215"},
        BadByte{"DirectoryOffset", 231, 165, 215,
                "npz directory: offset is 165, size is 51, expected to end at 215"},
        BadByte{"DirectoryOffsetPastTheEnd", 232, 1, 215,
                "npz directory: offset is 420, size is 51, expected to end at 215"},
        BadByte{"Signature", 164, 'Q', 164,
                "npz directory entry: signature is 0x2014b51, expected 0x2014b50" + kInEntry},
        BadByte{"NameLength", 192, 200, 210,
                "npz member name: needs 200 bytes, 5 bytes left" + kInEntry},
        BadByte{"ExtraLength", 194, 1, 215,
                "npz extra fields: needs 1 bytes, 0 bytes left" + kInEntry},
        BadByte{"CommentLength", 196, 1, 215,
                "npz member comment: needs 1 bytes, 0 bytes left" + kInEntry}),
    [](const auto& test) { return test.param.name; });

TEST(Npz, RefusesACountOfMembersPastTheDirectory) {
  // a name as long as another entry
  Bytes archive = zip_of({{std::string(60, 'a') + ".npy", npy("x")}});
  archive[archive.size() - 22 + 10] = 2;

  const Result<NpzReader> npz = NpzReader::over(archive);

  ASSERT_FALSE(npz.ok());
  EXPECT_EQ(npz.error().code, Code::malformed);
  EXPECT_EQ(npz.error().message,
            "npz directory entry: needs 46 bytes, 0 bytes left\n"
            "  while reading directory entry 1 of 2");
}

TEST(Npz, Reads65535MembersWithoutAZip64EndRecord) {
  const std::size_t count = 65535;
  std::vector<ZipPart> parts;
  for (std::size_t i = 0; i < count; ++i) parts.push_back({concat(i, ".npy"), npy("")});
  const Bytes archive = zip_of(parts);

  const Result<NpzReader> npz = NpzReader::over(archive);

  ASSERT_TRUE(npz.ok()) << npz.error().message;
  EXPECT_EQ(npz->members().size(), count);
}

TEST(Npz, DoesNotSearchAZip64EndRecordBeforeTheArchive) {
  // no members and a comment
  Bytes archive = zip_of({}, {.comment = std::string(80, ' ')});
  std::fill_n(archive.begin() + 8, 4, std::uint8_t{0xff});

  const Result<NpzReader> npz = NpzReader::over(archive);

  ASSERT_FALSE(npz.ok());
  EXPECT_EQ(npz.error().code, Code::malformed);
  EXPECT_EQ(npz.error().offset, 0u);
  EXPECT_EQ(npz.error().message, "npz has 65535 members, room for 0");
}

// The field contains only the numbers that do not fit in the directory entry.
TEST(Npz, ReadsAZip64FieldWithOneNumberBehindAnotherField) {
  const Bytes archive = zip_of({{.name = "a.npy",
                                 .bytes = npy("x"),
                                 .size = 0xffffffff,
                                 .packed_size = 129,
                                 .extra = {7, 0, 1, 0, 9, 1, 0, 8, 0, 129, 0, 0, 0, 0, 0, 0, 0}}});

  const Result<Bytes> data = read_first(archive);

  ASSERT_TRUE(data.ok()) << data.error().message;
  EXPECT_THAT(*data, ElementsAre('x'));
}

// The zip64 end record begins at 215, its locator at 271.
TEST(Npz, RefusesAZip64EndRecordThatIsNotWhereItsLocatorPoints) {
  Bytes archive = zip_of({{"a.npy", npy("x")}}, {.zip64 = true});
  archive[271 + 8] = 214;

  const Result<NpzReader> npz = NpzReader::over(archive);

  ASSERT_FALSE(npz.ok());
  EXPECT_EQ(npz.error().code, Code::malformed);
  EXPECT_EQ(npz.error().offset, 215u);
  EXPECT_EQ(npz.error().message,
            "npz zip64 end record: signature is 0x6064b50, offset is 214, expected 0x6064b50 and "
            "215");
}

TEST(Npz, RefusesAZip64EndRecordWithoutItsSignature) {
  Bytes archive = zip_of({{"a.npy", npy("x")}}, {.zip64 = true});
  archive[215] = 'Q';

  const Result<NpzReader> npz = NpzReader::over(archive);

  ASSERT_FALSE(npz.ok());
  EXPECT_EQ(npz.error().code, Code::malformed);
  EXPECT_EQ(npz.error().message,
            "npz zip64 end record: signature is 0x6064b51, offset is 215, expected 0x6064b50 and "
            "215");
}

TEST(Npz, RefusesA64BitCountOfMembersPastTheDirectory) {
  Bytes archive = zip_of({{"a.npy", npy("x")}}, {.zip64 = true});
  std::fill_n(archive.begin() + 215 + 32, 8, std::uint8_t{0xff});

  const Result<NpzReader> npz = NpzReader::over(archive);

  ASSERT_FALSE(npz.ok());
  EXPECT_EQ(npz.error().code, Code::malformed);
  EXPECT_EQ(npz.error().message, "npz has 18446744073709551615 members, room for 1");
}

TEST(Npz, RefusesMoreBytesThanItsLimit) {
  const Bytes archive = zip_of({{"a.npy", npy("x")}, {"b.npy", npy("y")}});

  const Result<NpzReader> npz = NpzReader::over(archive, {.bytes = 200});

  ASSERT_FALSE(npz.ok());
  EXPECT_EQ(npz.error().code, Code::exhausted);
  EXPECT_EQ(npz.error().message,
            "npz member \"b.npy\": size is 129 bytes, room for 71 bytes of 200 bytes");
}

TEST(Npz, RefusesMoreMembersThanItsLimit) {
  const Bytes archive = zip_of({{"a.npy", npy("x")}, {"b.npy", npy("y")}});

  const Result<NpzReader> npz = NpzReader::over(archive, {.members = 1});

  ASSERT_FALSE(npz.ok());
  EXPECT_EQ(npz.error().code, Code::exhausted);
  EXPECT_EQ(npz.error().message, "npz has 2 members, maximum is 1");
}

TEST(Npz, RefusesACountOfMembersPastTheFile) {
  Bytes archive = zip_of({{"a.npy", npy("x")}});
  const std::size_t counts_at = archive.size() - 22 + 8;
  std::fill_n(archive.begin() + static_cast<std::ptrdiff_t>(counts_at), 4, std::uint8_t{0x7f});

  const Result<NpzReader> npz = NpzReader::over(archive);

  ASSERT_FALSE(npz.ok());
  EXPECT_EQ(npz.error().code, Code::malformed);
  EXPECT_EQ(npz.error().message, "npz has 32639 members, room for 1");
}

TEST(Npz, RejectsOtherFiles) {
  const Bytes text(100, 'x');

  const Result<NpzReader> npz = NpzReader::over(text);

  ASSERT_FALSE(npz.ok());
  EXPECT_EQ(npz.error().code, Code::malformed);
  EXPECT_EQ(npz.error().message, "npz is not a zip archive: it has no directory at its end");
}

TEST(Npz, RefusesNoBytes) {
  const Result<NpzReader> npz = NpzReader::over({});

  ASSERT_FALSE(npz.ok());
  EXPECT_EQ(npz.error().code, Code::malformed);
  EXPECT_EQ(npz.error().message, "npz has 0 bytes, minimum is 98");
}

// 10 packed bytes give 10 * 1032 bytes, and up to 1031 more because the quotient is rounded down.
TEST(Npz, AcceptsTheLargestRatioOfDeflate) {
  EXPECT_TRUE(NpzReader::over(zip_of({sized(8, 11 * 1032 - 1, 10)})).ok());
  EXPECT_FALSE(NpzReader::over(zip_of({sized(8, 11 * 1032, 10)})).ok());
}

TEST(Npz, AcceptsAsManyBytesAsItsLimit) {
  const Bytes archive = zip_of({{"a.npy", npy("x")}, {"b.npy", npy("y")}});

  EXPECT_TRUE(NpzReader::over(archive, {.bytes = 258}).ok());
  EXPECT_FALSE(NpzReader::over(archive, {.bytes = 257}).ok());
}

TEST(Npz, AcceptsAsManyMembersAsItsLimit) {
  const Bytes archive = zip_of({{"a.npy", npy("x")}, {"b.npy", npy("y")}});

  EXPECT_TRUE(NpzReader::over(archive, {.members = 2}).ok());
}

TEST(Npz, AcceptsAHeaderThatEndsAtTheDirectory) {
  // The directory begins at 164: offset 129 leaves 35 bytes, which the header fills.
  const Bytes archive =
      zip_of({{.name = "a.npy", .bytes = npy("x"), .size = 0, .packed_size = 0, .header_at = 129}});

  const Result<NpzReader> npz = NpzReader::over(archive);

  EXPECT_TRUE(npz.ok()) << npz.error().message;
}

// 98 bytes: the zip64 end record, its locator and the end record.
TEST(Npz, ReadsTheShortestArchive) {
  const Bytes archive = zip_of({}, {.zip64 = true});
  ASSERT_EQ(archive.size(), 98u);

  const Result<NpzReader> npz = NpzReader::over(archive);

  ASSERT_TRUE(npz.ok()) << npz.error().message;
  EXPECT_TRUE(npz->members().empty());
  EXPECT_EQ(NpzReader::over(std::span(archive).subspan(1)).error().message,
            "npz has 97 bytes, minimum is 98");
}

TEST(Npz, RejectsZeroBytesWithoutAnEndRecord) {
  const Result<NpzReader> npz = NpzReader::over(Bytes(100));

  ASSERT_FALSE(npz.ok());
  EXPECT_EQ(npz.error().message, "npz is not a zip archive: it has no directory at its end");
}

// Offset and size of the directory: their sum overflows to the offset of the end record.
TEST(Npz, RefusesADirectoryWhoseEndOverflows) {
  Bytes archive = zip_of({{"a.npy", npy("x")}}, {.zip64 = true});
  std::fill_n(archive.begin() + 215 + 40, 8, std::uint8_t{0xff});
  archive[215 + 48] = 216;

  const Result<NpzReader> npz = NpzReader::over(archive);

  ASSERT_FALSE(npz.ok());
  EXPECT_EQ(npz.error().code, Code::malformed);
  EXPECT_EQ(npz.error().offset, 215u);
  EXPECT_EQ(npz.error().message,
            "npz directory: offset is 216, size is 18446744073709551615, expected to end at 215");
}

}  // namespace
}  // namespace gantry
