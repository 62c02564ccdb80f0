// SPDX-License-Identifier: Apache-2.0
#include "core/arrays/npz.hpp"

#include "tests/support/files.hpp"
#include "tests/unit/arrays/zip_bytes.hpp"

#include <gantry/dtype_text.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>

namespace gantry {
namespace {

using test::Bytes;
using test::golden;
using test::TempDir;
using test::zip_of;
using test::ZipMember;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

// uint8[data.size()] as a file.
Bytes npy(std::string_view data) {
  const std::vector<std::int64_t> shape = {static_cast<std::int64_t>(data.size())};
  return npy_bytes({1, 8, 1}, shape, Bytes(data.begin(), data.end())).value();
}

std::vector<std::string> names_of(const NpzReader& npz) {
  std::vector<std::string> names;
  for (const NpzMember& member : npz.members()) names.push_back(member.name);
  return names;
}

TEST(Npz, ReadsStoredAndDeflatedMembers) {
  const Bytes archive =
      zip_of({{"a.npy", npy("stored"), 0}, {"b.npy", npy(std::string(5000, 'd')), 8}});

  Result<NpzReader> npz = NpzReader::over(archive);

  ASSERT_TRUE(npz.ok()) << npz.error().message;
  EXPECT_THAT(names_of(*npz), ElementsAre("a", "b"));
  const Result<NpzArray> b = npz->read("b"), a = npz->read("a");
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_THAT(a->array.data, ElementsAre('s', 't', 'o', 'r', 'e', 'd'));
  EXPECT_THAT(b->array.data, ElementsAreArray(std::string(5000, 'd')));
  EXPECT_LT(npz->members()[1].packed_bytes, 200u);
  EXPECT_EQ(npz->members()[1].bytes, 5128u);
}

TEST(Npz, TellsAHeaderWithoutTheDataAndReadsThemToTheirPlace) {
  const Bytes archive = zip_of({{"a.npy", npy(std::string(5000, 'd')), 8}});
  Result<NpzReader> npz = NpzReader::over(archive);
  ASSERT_TRUE(npz.ok()) << npz.error().message;

  const Result<NpyHeader> header = npz->header("a");
  ASSERT_TRUE(header.ok()) << header.error().message;
  Bytes data(5000);
  const Status read = npz->read_data("a", *header, data);

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

  const Result<NpyHeader> header = NpzReader::over(zip_of({{"a.npy", file, 8}}))->header("a");

  ASSERT_TRUE(header.ok()) << header.error().message;
  EXPECT_EQ(header->data_at, 128 + more);
}

TEST(Npz, RefusesAHeaderThatDoesNotFitTheMember) {
  Bytes file = npy("four");
  file.pop_back();

  const Result<NpyHeader> header = NpzReader::over(zip_of({{"a.npy", file, 0}}))->header("a");

  ASSERT_FALSE(header.ok());
  EXPECT_EQ(header.error().code, Code::malformed);
  EXPECT_EQ(header.error().message, "npz member \"a\": data are 3 bytes, dtype and shape say 4");
}

TEST(Npz, RefusesRoomThatIsNotWhatTheMemberTakes) {
  const Bytes archive = zip_of({{"a.npy", npy("four"), 0}});
  Result<NpzReader> npz = NpzReader::over(archive);
  const NpyHeader header = npz->header("a").value();
  Bytes data(3);

  const Status read = npz->read_data("a", header, data);

  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code, Code::invalid);
  EXPECT_EQ(read.error().message, "npz member \"a\" is 132 bytes, room is for 128 and 3");
}

TEST(Npz, ReadsWhatNumpyWrote) {
  Result<NpzReader> npz = NpzReader::open(golden("tvm-0.12/digits_mlp.input.npz"));

  ASSERT_TRUE(npz.ok()) << npz.error().message;
  ASSERT_THAT(names_of(*npz), ElementsAre("x"));
  const Result<NpzArray> x = npz->read("x");
  ASSERT_TRUE(x.ok()) << x.error().message;
  EXPECT_EQ(x->name, "x");
  EXPECT_EQ(dtype_text(x->array.dtype), "float32");
  EXPECT_THAT(x->array.shape, ElementsAre(360, 1, 64));
}

TEST(Npz, ArraysOutliveTheirReaderAndMove) {
  Result<NpzArray> array = not_found("not yet");
  {
    const Bytes archive = zip_of({{"a.npy", npy("abc"), 8}});
    array = NpzReader::over(archive)->read("a");
  }

  const NpzArray moved = std::move(array).value();

  EXPECT_THAT(moved.array.data, ElementsAre('a', 'b', 'c'));
}

struct BadZip {
  const char* name;
  std::vector<ZipMember> members;
  Code code;
  const char* message;
};

constexpr Code kBad = Code::malformed, kNotOurs = Code::unsupported;

class NpzRefuses : public ::testing::TestWithParam<BadZip> {};

TEST_P(NpzRefuses, BeforeUnpackingAnything) {
  const Bytes archive = zip_of(GetParam().members);

  const Result<NpzReader> npz = NpzReader::over(archive);

  ASSERT_FALSE(npz.ok());
  EXPECT_EQ(npz.error().code, GetParam().code);
  EXPECT_EQ(npz.error().reason, "NPZ");
  EXPECT_EQ(npz.error().message, GetParam().message);
}

ZipMember sized(std::uint16_t method, std::int64_t size, std::int64_t packed_size) {
  return {"a.npy", npy(""), method, 0, size, packed_size, -1};
}

INSTANTIATE_TEST_SUITE_P(
    Members, NpzRefuses,
    ::testing::Values(
        BadZip{"Twice",
               {{"a.npy", npy("x")}, {"a.npy", npy("y")}},
               kBad,
               "npz member \"a\" is there twice"},
        BadZip{"Encrypted",
               {{"a.npy", npy("x"), 0, 1}},
               kNotOurs,
               "npz member \"a.npy\" is encrypted"},
        BadZip{"StronglyEncrypted",
               {{"a.npy", npy("x"), 0, 1 << 6}},
               kNotOurs,
               "npz member \"a.npy\" is encrypted"},
        BadZip{"NoNpy",
               {{"re\x1b[2Jadme", npy("x")}},
               kNotOurs,
               "npz member \"re\\x1b[2Jadme\" is no .npy file"},
        BadZip{"Bzip2",
               {{"a.npy", npy("x"), 12}},
               kNotOurs,
               "npz member \"a.npy\": compression is 12, known are 0 (stored) and 8 (deflate)"},
        BadZip{"PackedPastTheFile",
               {sized(8, 128, 100000)},
               kBad,
               "npz member \"a.npy\": packed size is 100000, the archive has 176 bytes"},
        BadZip{"StoredSizesDiffer",
               {sized(0, 129, 128)},
               kBad,
               "npz member \"a.npy\" is stored: size is 129, packed size is 128"},
        BadZip{"Bomb",
               {sized(8, 4000000000, 100)},
               kBad,
               "npz member \"a.npy\": size is 4000000000, deflate gives 100 bytes at most 1032 "
               "times over"}),
    [](const auto& test) { return test.param.name; });

TEST(Npz, RefusesMoreBytesThanItsLimit) {
  const Bytes archive = zip_of({{"a.npy", npy("x")}, {"b.npy", npy("y")}});

  const Result<NpzReader> npz = NpzReader::over(archive, {.bytes = 200});

  ASSERT_FALSE(npz.ok());
  EXPECT_EQ(npz.error().code, Code::exhausted);
  EXPECT_EQ(npz.error().message, "npz member \"b.npy\": size is 129, room for 71 of 200");
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
  EXPECT_EQ(npz.error().message, "npz has 32639 members, room for 5");
}

TEST(Npz, RefusesACountOfMembersPastTheDirectory) {
  Bytes archive = zip_of({{"a.npy", npy("x")}});
  archive[archive.size() - 22 + 8] = archive[archive.size() - 22 + 10] = 2;

  const Result<NpzReader> npz = NpzReader::over(archive);

  ASSERT_FALSE(npz.ok());
  EXPECT_EQ(npz.error().code, Code::malformed);
  EXPECT_EQ(npz.error().message, "npz member 1: the directory is broken, it has 2 members");
}

TEST(Npz, RefusesWhatIsNoArchive) {
  const Bytes text(100, 'x');

  const Result<NpzReader> npz = NpzReader::over(text);

  ASSERT_FALSE(npz.ok());
  EXPECT_EQ(npz.error().code, Code::malformed);
  EXPECT_EQ(npz.error().message, "npz is no zip archive: it has no directory at its end");
}

TEST(Npz, RefusesNoBytes) {
  const Result<NpzReader> npz = NpzReader::over({});

  ASSERT_FALSE(npz.ok());
  EXPECT_EQ(npz.error().code, Code::malformed);
  EXPECT_EQ(npz.error().message, "npz has 0 bytes, minimum is 98");
}

TEST(Npz, ListsItsMembersWhereANameIsNotThere) {
  const Bytes archive = zip_of({{"a.npy", npy("x")}, {"b\n.npy", npy("y")}});

  const Result<NpzArray> array = NpzReader::over(archive)->read("c");

  ASSERT_FALSE(array.ok());
  EXPECT_EQ(array.error().code, Code::not_found);
  EXPECT_EQ(array.error().message, "npz has no member \"c\"; members: \"a\", \"b\\n\"");
}

TEST(Npz, ChecksTheSumOfAMember) {
  const Bytes archive = zip_of({{"a.npy", npy("x"), 8, 0, -1, -1, 7}});

  const Result<NpzArray> array = NpzReader::over(archive)->read("a");

  ASSERT_FALSE(array.ok());
  EXPECT_EQ(array.error().code, Code::malformed);
  EXPECT_EQ(array.error().message, "npz member \"a\": check sum of the data is wrong");
}

TEST(Npz, UnpacksNoMoreThanTheDirectorySays) {
  const Bytes archive = zip_of({{"a.npy", npy(std::string(5000, 'x')), 8, 0, 129, -1, -1}});

  const Result<NpzArray> array = NpzReader::over(archive)->read("a");

  ASSERT_FALSE(array.ok());
  EXPECT_EQ(array.error().code, Code::malformed);
  EXPECT_EQ(array.error().message, "npz member \"a\": check sum of the data is wrong");
}

TEST(Npz, RefusesPackedDataThatEndEarly) {
  const Bytes archive = zip_of({{"a.npy", npy("x"), 8, 0, 130, -1, -1}});

  const Result<NpzArray> array = NpzReader::over(archive)->read("a");

  ASSERT_FALSE(array.ok());
  EXPECT_EQ(array.error().code, Code::malformed);
  EXPECT_EQ(array.error().message,
            "npz member \"a\": packed data end after 129 bytes, size is 130");
}

TEST(Npz, RefusesALocalHeaderThatSaysSomethingElse) {
  Bytes archive = zip_of({{"a.npy", npy("x")}});
  // the method, in the local header only
  archive[8] = 8;

  const Result<NpzArray> array = NpzReader::over(archive)->read("a");

  ASSERT_FALSE(array.ok());
  EXPECT_EQ(array.error().code, Code::malformed);
  EXPECT_EQ(array.error().message,
            "npz member \"a\": its local header does not agree with the directory");
}

TEST(Npz, SaysInWhichMemberTheNpyIsWrong) {
  const Bytes archive = zip_of({{"a.npy", Bytes(10, 'x')}});

  const Result<NpzArray> array = NpzReader::over(archive)->read("a");

  ASSERT_FALSE(array.ok());
  EXPECT_EQ(array.error().code, Code::malformed);
  EXPECT_EQ(array.error().message,
            "npy magic is wrong, expected 0x93 \"NUMPY\"\n  while reading npz member \"a\"");
}

TEST(Npz, SaysWhichFileIsNotThere) {
  const TempDir directory;

  const Result<NpzReader> npz = NpzReader::open(directory / "none.npz");

  ASSERT_FALSE(npz.ok());
  EXPECT_EQ(npz.error().code, Code::not_found);
  EXPECT_EQ(npz.error().message, concat("cannot read \"", (directory / "none.npz").native(),
                                        "\": No such file or directory"));
}

TEST(Npz, SaysWhichFileIsWrong) {
  const TempDir directory;
  test::write_file(directory / "bad.npz", std::string(100, 'x'));

  const Result<NpzReader> npz = NpzReader::open(directory / "bad.npz");

  ASSERT_FALSE(npz.ok());
  EXPECT_EQ(npz.error().code, Code::malformed);
  EXPECT_EQ(npz.error().message,
            concat("npz is no zip archive: it has no directory at its end\n  while reading \"",
                   (directory / "bad.npz").native(), "\""));
}

TEST(Npz, DoesNotWaitForAFifo) {
  const TempDir directory;
  ASSERT_EQ(mkfifo((directory / "fifo").c_str(), 0600), 0);

  const Result<NpzReader> npz = NpzReader::open(directory / "fifo");

  ASSERT_FALSE(npz.ok());
  EXPECT_EQ(npz.error().code, Code::malformed);
  EXPECT_EQ(npz.error().message,
            concat("\"", (directory / "fifo").native(), "\" is no regular file"));
}

// Every member of `archive` that can be read: no crash, and nothing that was not written. Names may
// change, the data are under their sums.
void read_hostile(std::span<const std::uint8_t> archive, const std::vector<Bytes>& written,
                  const std::string& what) {
  Result<NpzReader> npz = NpzReader::over(archive, {.members = 100, .bytes = 1 << 20});
  if (!npz.ok()) return;
  for (const std::string& name : names_of(*npz)) {
    const Result<NpzArray> array = npz->read(name);
    if (!array.ok()) continue;
    const bool known = std::ranges::any_of(
        written, [&](const Bytes& data) { return std::ranges::equal(data, array->array.data); });
    ASSERT_TRUE(known) << what << " gives an array that nobody wrote";
  }
}

const std::vector<Bytes> kWritten = {{'a', 'b', 'c'}, Bytes(90, 'd')};
Bytes small_archive() {
  return zip_of({{"a.npy", npy("abc")}, {"b.npy", npy(std::string(90, 'd')), 8}});
}

TEST(Npz, RefusesEveryTruncation) {
  const Bytes whole = small_archive();

  for (std::size_t size = 0; size < whole.size(); ++size) {
    const Result<NpzReader> npz = NpzReader::over(std::span(whole).first(size));
    EXPECT_FALSE(npz.ok()) << "accepted the first " << size << " bytes";
  }
}

TEST(Npz, GivesNothingThatNobodyWroteForAnyChangedByte) {
  Bytes archive = small_archive();
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

}  // namespace
}  // namespace gantry
