// SPDX-License-Identifier: Apache-2.0
#include "core/arrays/npz.hpp"

#include "tests/support/files.hpp"
#include "tests/unit/arrays/zip_bytes.hpp"

#include <gantry/dtype_text.hpp>
#include <gantry/quoted.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace gantry {
namespace {

using test::Bytes;
using test::deflated;
using test::golden;
using test::zip_of;
using test::ZipPart;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

// A file of uint8[data.size()].
Bytes npy(std::string_view data) {
  const std::vector<std::int64_t> shape = {static_cast<std::int64_t>(data.size())};
  return npy_bytes({1, 8, 1}, shape, Bytes(data.begin(), data.end())).value();
}

std::vector<std::string_view> names_of(const NpzReader& npz) {
  std::vector<std::string_view> names;
  for (const ZipMember& member : npz.members()) names.push_back(member.name);
  return names;
}

Result<Bytes> read(const NpzReader& npz, const ZipMember& member) {
  GANTRY_TRY(const ArrayHeader header, npz.header(member));
  Bytes data(header.data_bytes);
  GANTRY_CHECK(npz.read_data(member, header, data));
  return data;
}

// The data of the first member.
Result<Bytes> read_first(std::span<const std::uint8_t> archive) {
  GANTRY_TRY(const NpzReader npz, NpzReader::over(archive));
  return read(npz, npz.members().front());
}

TEST(Npz, ReadsStoredAndDeflatedMembers) {
  const Bytes archive =
      zip_of({{"a.npy", npy("stored"), 0}, {"b.npy", npy(std::string(5000, 'd')), 8}});

  const Result<NpzReader> npz = NpzReader::over(archive);

  ASSERT_TRUE(npz.ok()) << npz.error().message;
  EXPECT_THAT(names_of(*npz), ElementsAre("a.npy", "b.npy"));
  const Result<Bytes> b = read(*npz, npz->members()[1]), a = read(*npz, npz->members()[0]);
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_THAT(*a, ElementsAre('s', 't', 'o', 'r', 'e', 'd'));
  EXPECT_THAT(*b, ElementsAreArray(std::string(5000, 'd')));
  EXPECT_LT(npz->members()[1].packed_bytes, 200u);
  EXPECT_EQ(npz->members()[1].bytes, 5128u);
}

// The forms in which sizes, checksums and the directory are written.
struct ZipForm {
  const char* name;
  bool zip64 = false, streamed = false;
  test::ZipTail tail = {};
};

class NpzForms : public ::testing::TestWithParam<ZipForm> {};

TEST_P(NpzForms, AreRead) {
  const ZipForm& form = GetParam();
  ZipPart stored{"a.npy", npy("stored"), 0}, packed{"b.npy", npy(std::string(90, 'd')), 8};
  stored.zip64 = packed.zip64 = form.zip64;
  stored.streamed = packed.streamed = form.streamed;
  const Bytes archive = zip_of({stored, packed}, form.tail);

  const Result<NpzReader> npz = NpzReader::over(archive);

  ASSERT_TRUE(npz.ok()) << npz.error().message;
  const Result<Bytes> a = read(*npz, npz->members()[0]), b = read(*npz, npz->members()[1]);
  ASSERT_TRUE(a.ok()) << a.error().message;
  ASSERT_TRUE(b.ok()) << b.error().message;
  EXPECT_THAT(*a, ElementsAreArray(std::string("stored")));
  EXPECT_THAT(*b, ElementsAreArray(std::string(90, 'd')));
}

INSTANTIATE_TEST_SUITE_P(
    OfArchives, NpzForms,
    ::testing::Values(
        ZipForm{"Zip64Fields", true}, ZipForm{"DataDescriptors", false, true},
        ZipForm{"Zip64DataDescriptors", true, true}, ZipForm{"Zip64End", false, false, {true}},
        // zipfile.ZipFile of Python 3.11 writes it if a member is opened with force_zip64.
        ZipForm{"Zip64EndAndAPlainOne", true, false, {true, "", true}},
        ZipForm{"Comment", false, false, {false, "a comment"}},
        ZipForm{"EndRecordInComment", false, false, {false, "PK\5\6" + std::string(30, 'x')}}),
    [](const auto& test) { return test.param.name; });

TEST(Npz, ReadsAHeaderWithoutTheDataThenTheData) {
  const Bytes archive = zip_of({{"a.npy", npy(std::string(5000, 'd')), 8}});
  const NpzReader npz = NpzReader::over(archive).value();
  const ZipMember& member = npz.members().front();

  const Result<ArrayHeader> header = npz.header(member);
  ASSERT_TRUE(header.ok()) << header.error().message;
  Bytes data(5000);
  const Status read = npz.read_data(member, *header, data);

  EXPECT_THAT(header->shape, ElementsAre(5000));
  EXPECT_EQ(header->data_bytes, 5000u);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_THAT(data, ElementsAreArray(std::string(5000, 'd')));
}

TEST(Npz, ReadsAHeaderThatIsLongerThanMost) {
  Bytes file = npy("x");
  // spaces before the header's line break
  const std::size_t more = 4096;
  file.insert(file.begin() + 127, more, ' ');
  const std::size_t length = 128 - 10 + more;
  file[8] = static_cast<std::uint8_t>(length);
  file[9] = static_cast<std::uint8_t>(length >> 8);
  const Bytes archive = zip_of({{"a.npy", file, 8}});
  const NpzReader npz = NpzReader::over(archive).value();

  const Result<ArrayHeader> header = npz.header(npz.members().front());

  ASSERT_TRUE(header.ok()) << header.error().message;
  EXPECT_EQ(header->data_at, 128 + more);
}

TEST(Npz, RefusesAHeaderThatDoesNotFitTheMember) {
  Bytes file = npy("four");
  file.pop_back();

  const Result<Bytes> data = read_first(zip_of({{"a.npy", file, 0}}));

  ASSERT_FALSE(data.ok());
  EXPECT_EQ(data.error().code, Code::malformed);
  EXPECT_EQ(data.error().message,
            "npz member \"a.npy\": data are 3 bytes, dtype and shape require 4 bytes");
}

TEST(Npz, RejectsABufferOfAnotherSize) {
  const Bytes archive = zip_of({{"a.npy", npy("four"), 0}});
  const NpzReader npz = NpzReader::over(archive).value();
  const ZipMember& member = npz.members().front();
  Bytes data(3);

  const Status read = npz.read_data(member, npz.header(member).value(), data);

  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code, Code::invalid);
  EXPECT_EQ(read.error().message, "npz member \"a.npy\" is 132 bytes, room is for 128 and 3");
}

TEST(Npz, ReturnsStoredDataInPlace) {
  const Bytes archive = zip_of({{"a.npy", npy("abc"), 0}, {"b.npy", npy("abc"), 8}});
  const NpzReader npz = NpzReader::over(archive).value();
  const ZipMember &stored = npz.members()[0], &packed = npz.members()[1];

  const auto in_place = npz.stored_data(stored, npz.header(stored).value());
  const auto none = npz.stored_data(packed, npz.header(packed).value());

  ASSERT_TRUE(in_place.ok()) << in_place.error().message;
  EXPECT_EQ(in_place->value().data(), archive.data() + 30 + 5 + 128);
  EXPECT_THAT(in_place->value(), ElementsAre('a', 'b', 'c'));
  ASSERT_TRUE(none.ok()) << none.error().message;
  EXPECT_EQ(*none, std::nullopt);
}

TEST(Npz, ReturnsNoStoredDataWithAWrongChecksum) {
  const Bytes archive = zip_of({{"a.npy", npy("x"), 0, 0, -1, -1, 7}});
  const NpzReader npz = NpzReader::over(archive).value();
  const ZipMember& member = npz.members().front();

  const auto data = npz.stored_data(member, npz.header(member).value());

  ASSERT_FALSE(data.ok());
  EXPECT_EQ(data.error().code, Code::malformed);
}

TEST(Npz, ReadsWhatNumpyWrote) {
  const Bytes archive = test::read_file(golden("tvm-0.12/digits_mlp.input.npz"));

  const Result<NpzReader> npz = NpzReader::over(archive);

  ASSERT_TRUE(npz.ok()) << npz.error().message;
  ASSERT_THAT(names_of(*npz), ElementsAre("x.npy"));
  const Result<ArrayHeader> x = npz->header(npz->members().front());
  ASSERT_TRUE(x.ok()) << x.error().message;
  EXPECT_EQ(dtype_text(x->dtype), "float32");
  EXPECT_THAT(x->shape, ElementsAre(360, 1, 64));
}

// uint8[0] as "a.npy", with wrong headers. The directory begins at 163.
ZipPart sized(std::uint16_t method, std::int64_t size, std::int64_t packed_size) {
  return {"a.npy", npy(""), method, 0, size, packed_size, -1};
}

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

struct BadMember {
  const char* name;
  ZipPart part;
  std::uint64_t offset;
  std::string message;
};

std::uint32_t crc_of(const Bytes& bytes) {
  return static_cast<std::uint32_t>(crc32(0, bytes.data(), static_cast<uInt>(bytes.size())));
}

Bytes joined(Bytes first, const Bytes& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

class NpzMemberData : public ::testing::TestWithParam<BadMember> {};

TEST_P(NpzMemberData, IsRefused) {
  const Bytes archive = zip_of({GetParam().part});
  const Result<NpzReader> npz = NpzReader::over(archive);
  ASSERT_TRUE(npz.ok()) << npz.error().message;

  const Result<Bytes> data = read(*npz, npz->members().front());

  ASSERT_FALSE(data.ok());
  EXPECT_EQ(data.error().code, Code::malformed);
  EXPECT_EQ(data.error().reason, "NPZ");
  EXPECT_EQ(data.error().message, GetParam().message);
  EXPECT_EQ(data.error().offset, GetParam().offset);
}

const Bytes kX = npy("x");
const std::string kReading = "\n  while reading npz member \"a.npy\"";

INSTANTIATE_TEST_SUITE_P(
    Where, NpzMemberData,
    ::testing::Values(
        BadMember{"NameDiffers",
                  {.name = "a.npy", .bytes = kX, .local_name = "b.npy"},
                  0,
                  "npz member \"a.npy\": name in the local header is \"b.npy\"" + kReading},
        BadMember{"LocalNameIsLonger",
                  {.name = "a.npy", .bytes = kX, .packed_size = 129, .local_name = "a.npy_"},
                  0,
                  "npz member \"a.npy\": name in the local header is \"a.npy_\"" + kReading},
        BadMember{"ChecksumIsWrong",
                  {"a.npy", kX, 8, 0, -1, -1, 7},
                  35 + deflated(kX).size(),
                  concat("npz member \"a.npy\": checksum of the data is ", Hex{crc_of(kX)},
                         ", the directory has 0x7")},
        BadMember{"ChecksumOfStoredDataIsWrong",
                  {"a.npy", kX, 0, 0, -1, -1, 7},
                  164,
                  concat("npz member \"a.npy\": checksum of the data is ", Hex{crc_of(kX)},
                         ", the directory has 0x7")},
        BadMember{"DataEndEarly",
                  {"a.npy", kX, 8, 0, 130, -1, -1},
                  35 + deflated(kX).size(),
                  "npz member \"a.npy\": packed data end after 129 bytes, size is 130"},
        BadMember{"DataAreCut",
                  {.name = "a.npy",
                   .bytes = npy(std::string(300, 'x')),
                   .method = 8,
                   .packed = Bytes{0x00, 0x00, 0x02, 0xff, 0xfd, 'x', 'y'}},
                  42,
                  "npz member \"a.npy\": packed data end after 2 bytes, size is 428"},
        BadMember{"DataAreNotDeflated",
                  {.name = "a.npy", .bytes = kX, .method = 8, .packed = Bytes(40, 0x07)},
                  0,
                  "npz member \"a.npy\": packed data are wrong after 0 bytes: invalid block type"},
        BadMember{"BytesFollowTheData",
                  {.name = "a.npy",
                   .bytes = kX,
                   .method = 8,
                   .packed = joined(deflated(kX), Bytes(2, 0))},
                  35 + deflated(kX).size() + 2,
                  concat("npz member \"a.npy\": packed data do not end after 129 bytes and packed "
                         "size ",
                         deflated(kX).size() + 2)},
        // one block that is not marked as the last one
        BadMember{"DataHaveNoEnd",
                  {.name = "a.npy",
                   .bytes = kX,
                   .method = 8,
                   .packed = joined({0x00, 129, 0x00, 0x7e, 0xff}, kX)},
                  35 + 5 + 129,
                  "npz member \"a.npy\": packed data do not end after 129 bytes and packed size "
                  "134"},
        BadMember{"OneByteFollows",
                  {.name = "a.npy",
                   .bytes = kX,
                   .method = 8,
                   .packed = deflated(joined(kX, Bytes(1, 'y')))},
                  35 + deflated(joined(kX, Bytes(1, 'y'))).size(),
                  concat("npz member \"a.npy\": packed data do not end after 129 bytes and packed "
                         "size ",
                         deflated(joined(kX, Bytes(1, 'y'))).size())},
        BadMember{"DataGoOn",
                  {.name = "a.npy",
                   .bytes = kX,
                   .method = 8,
                   .packed = deflated(joined(kX, Bytes(90, 'y')))},
                  35 + deflated(joined(kX, Bytes(90, 'y'))).size(),
                  concat("npz member \"a.npy\": packed data do not end after 129 bytes and packed "
                         "size ",
                         deflated(joined(kX, Bytes(90, 'y'))).size())}),
    [](const auto& test) { return test.param.name; });

// Errors that the directory does not show are detected when the member is opened.
TEST(Npz, RefusesDataThatReachIntoTheNextMember) {
  ZipPart part{"a.npy", npy("x")};
  Bytes archive = zip_of({part, {"b.npy", npy("y")}});
  // the length of the local extra fields
  archive[28] = 1;

  const Result<Bytes> data = read_first(archive);

  ASSERT_FALSE(data.ok());
  EXPECT_EQ(data.error().code, Code::malformed);
  EXPECT_EQ(data.error().reason, "NPZ");
  EXPECT_EQ(data.error().offset, 36u);
  EXPECT_EQ(
      data.error().message,
      "npz packed data: needs 129 bytes, 128 bytes left\n  while reading npz member \"a.npy\"");
}

TEST(Npz, RejectsALocalHeaderThatContradictsTheDirectory) {
  Bytes archive = zip_of({{"a.npy", npy("x")}});
  // the method, in the local header only
  archive[8] = 8;

  const Result<Bytes> data = read_first(archive);

  ASSERT_FALSE(data.ok());
  EXPECT_EQ(data.error().code, Code::malformed);
  EXPECT_EQ(
      data.error().message,
      "npz member \"a.npy\": compression in the local header is 8, the directory has 0" + kReading);
}

TEST(Npz, RefusesALocalHeaderWithoutItsSignature) {
  Bytes archive = zip_of({{"a.npy", npy("x")}});
  archive[0] = 'Q';

  const Result<Bytes> data = read_first(archive);

  ASSERT_FALSE(data.ok());
  EXPECT_EQ(data.error().code, Code::malformed);
  EXPECT_EQ(data.error().message,
            "npz member \"a.npy\": signature of the local header is 0x4034b51, expected "
            "0x4034b50" +
                kReading);
}

TEST(Npz, DecompressesNoMoreThanTheDirectorySpecifies) {
  const Bytes bytes = npy(std::string(5000, 'x'));
  const Bytes archive = zip_of({{"a.npy", bytes, 8, 0, 129, -1, -1}});
  const NpzReader npz = NpzReader::over(archive).value();
  ArrayHeader header;
  header.data_at = 128;
  Bytes data(1);

  const Status read = npz.read_data(npz.members().front(), header, data);

  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code, Code::malformed);
  EXPECT_EQ(read.error().message, concat("npz member \"a.npy\": checksum of the data is ",
                                         Hex{crc_of(Bytes(bytes.begin(), bytes.begin() + 129))},
                                         ", the directory has ", Hex{crc_of(bytes)}));
}

TEST(Npz, ReportsTheMemberWithTheError) {
  const Bytes archive = zip_of({{"a.npy", Bytes(10, 'x')}});

  const Result<Bytes> data = read_first(archive);

  ASSERT_FALSE(data.ok());
  EXPECT_EQ(data.error().code, Code::malformed);
  EXPECT_EQ(data.error().message,
            "npy magic is wrong, expected 0x93 \"NUMPY\"\n  while reading npz member \"a.npy\"");
}

// Reads every member of `archive`. Data must be those of a written array; names may differ, because
// they have no checksum.
void read_hostile(std::span<const std::uint8_t> archive, const std::vector<Bytes>& written,
                  const std::string& what) {
  const Result<NpzReader> npz = NpzReader::over(archive, {.members = 100, .bytes = 1 << 20});
  if (!npz.ok()) return;
  for (const ZipMember& member : npz->members()) {
    const Result<Bytes> array = read(*npz, member);
    if (!array.ok()) continue;
    const bool known =
        std::ranges::any_of(written, [&](const Bytes& data) { return data == *array; });
    ASSERT_TRUE(known) << what << " gives an array that nobody wrote";
  }
}

const std::vector<Bytes> kWritten = {{'a', 'b', 'c'}, Bytes(90, 'd')};
const std::vector<ZipPart> kParts = {
    {"a.npy", npy("abc")},
    {"b.npy", npy(std::string(90, 'd')), 8},
    {.name = "c.npy", .bytes = npy("abc"), .zip64 = true, .streamed = true}};

TEST(Npz, RefusesEveryTruncation) {
  for (const bool zip64 : {false, true}) {
    const Bytes whole = zip_of(kParts, {.zip64 = zip64});
    for (std::size_t size = 0; size < whole.size(); ++size) {
      const Result<NpzReader> npz = NpzReader::over(std::span(whole).first(size));
      EXPECT_FALSE(npz.ok()) << "accepted the first " << size << " bytes";
    }
  }
}

TEST(Npz, ReturnsOnlyOriginalDataForAnyChangedByte) {
  Bytes archive = zip_of(kParts, {.zip64 = true});
  for (std::size_t at = 0; at < archive.size(); ++at) {
    const std::uint8_t right = archive[at];
    for (const int change : {1, 2, 4, 8, 16, 32, 64, 128, 255, -1, int{right}, right ^ 0xff}) {
      // Each bit, all bits, one less, all zero and all one.
      archive[at] = static_cast<std::uint8_t>(change < 0 ? right + change : right ^ change);
      read_hostile(archive, kWritten, concat("byte ", at, " = ", archive[at]));
    }
    archive[at] = right;
  }
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

TEST(Npz, ReadsAnArrayWithoutElements) {
  const Result<Bytes> data = read_first(zip_of({{"a.npy", npy("")}}));

  ASSERT_TRUE(data.ok()) << data.error().message;
  EXPECT_THAT(*data, ElementsAre());
}

// The size of the data would be negative.
TEST(Npz, RejectsDataThatBeginBehindTheMember) {
  const Bytes archive = zip_of({{"a.npy", npy("four")}});
  const NpzReader npz = NpzReader::over(archive).value();
  const ZipMember& member = npz.members().front();
  ArrayHeader header = npz.header(member).value();
  header.data_at = member.bytes + 1;
  header.data_bytes = UINT64_MAX;

  const auto data = npz.stored_data(member, header);

  ASSERT_FALSE(data.ok());
  EXPECT_EQ(data.error().code, Code::invalid);
  EXPECT_EQ(data.error().message,
            "npz member \"a.npy\" is 132 bytes, room is for 133 and 18446744073709551615");
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
