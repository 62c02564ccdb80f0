// SPDX-License-Identifier: Apache-2.0
//
// Local headers and data of the members of an archive.
#include "core/formats/arrays/npz.hpp"

#include "tests/unit/arrays/npz_reading.hpp"

#include <gtest/gtest.h>

namespace gantry {
namespace {

using test::Bytes;
using test::deflated;
using test::npy;
using test::read;
using test::read_first;
using test::zip_of;
using test::ZipPart;

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

}  // namespace
}  // namespace gantry
