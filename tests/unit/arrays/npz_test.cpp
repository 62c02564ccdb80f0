// SPDX-License-Identifier: Apache-2.0
#include "core/formats/arrays/npz.hpp"

#include "tests/support/files.hpp"
#include "tests/unit/arrays/npz_reading.hpp"

#include <gantry/dtype_text.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace gantry {
namespace {

using test::Bytes;
using test::golden;
using test::names_of;
using test::npy;
using test::read;
using test::read_first;
using test::zip_of;
using test::ZipPart;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

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

TEST(Npz, ReadsAnArrayWithoutElements) {
  const Result<Bytes> data = read_first(zip_of({{"a.npy", npy("")}}));

  ASSERT_TRUE(data.ok()) << data.error().message;
  EXPECT_THAT(*data, ElementsAre());
}

}  // namespace
}  // namespace gantry
