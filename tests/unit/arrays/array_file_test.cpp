// SPDX-License-Identifier: Apache-2.0
#include "core/formats/arrays/array_file.hpp"
#include "core/base/file_mark.hpp"

#include "tests/support/array_value.hpp"
#include "tests/support/params_file.hpp"
#include "tests/unit/arrays/zip_bytes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>

namespace gantry {
namespace {

using test::ArrayValue;
using test::Bytes;
using test::golden;
using test::zip_of;
using test::ZipPart;
using ::testing::ElementsAre;

constexpr gantry_dtype kByte{1, 8, 1};
const std::vector<std::int64_t> kShape = {3};
const Bytes kData = {1, 2, 3};

Bytes npy() { return npy_bytes(kByte, kShape, kData).value(); }
Bytes params(std::string_view name) {
  const Param param{name, {kByte, kShape, kData, 0}};
  const std::string bytes = test::params_bytes({&param, 1});
  return {bytes.begin(), bytes.end()};
}

struct Format {
  const char* test_name;
  ArrayFormat format;
  // of the only array
  std::string name;
  Bytes bytes;
  bool compressed = false;
};

class ArrayFileFormats : public ::testing::TestWithParam<Format> {};

TEST_P(ArrayFileFormats, AreReadAlike) {
  const Format& given = GetParam();

  const Result<ArrayFile> file = ArrayFile::parse(given.bytes);

  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_EQ(file->format(), given.format);
  EXPECT_THAT(file->names(), ElementsAre(given.name));
  const std::size_t index = file->find(given.name).value();
  const ArrayHeader header = file->header(index).value();
  EXPECT_EQ(header.shape, kShape);
  EXPECT_EQ(header.data_bytes, 3u);
  Bytes data(3);
  EXPECT_TRUE(file->read_data(index, header, data).ok());
  EXPECT_EQ(data, kData);
}

TEST_P(ArrayFileFormats, ReturnDataInPlaceUnlessCompressed) {
  const Format& given = GetParam();
  const ArrayFile file = ArrayFile::parse(given.bytes).value();

  const auto stored = file.stored_data(0, file.header(0).value());

  ASSERT_TRUE(stored.ok()) << stored.error().message;
  ASSERT_EQ(stored->has_value(), !given.compressed);
  if (given.compressed) return;
  EXPECT_THAT(stored->value(), ElementsAre(1, 2, 3));
  EXPECT_GE(stored->value().data(), given.bytes.data());
  EXPECT_LE(stored->value().data() + 3, given.bytes.data() + given.bytes.size());
}

INSTANTIATE_TEST_SUITE_P(Of, ArrayFileFormats,
                         ::testing::Values(Format{"Npy", ArrayFormat::npy, "", npy()},
                                           Format{"Npz", ArrayFormat::npz, "a",
                                                  zip_of({{"a.npy", npy(), 0}})},
                                           Format{"CompressedNpz", ArrayFormat::npz, "a",
                                                  zip_of({{"a.npy", npy(), 8}}), true},
                                           Format{"Params", ArrayFormat::params, "a", params("a")}),
                         [](const auto& test) { return test.param.test_name; });

TEST(ArrayFile, ReadsWhatNumpyWrote) {
  for (const char* const name : {"numpy-2.4/savez.npz", "numpy-2.4/savez_compressed.npz"}) {
    const Bytes bytes = test::read_file(golden(name));

    const Result<ArrayValue> a = test::read_array(bytes, "a"), b = test::read_array(bytes, "b");

    ASSERT_TRUE(a.ok()) << a.error().message;
    EXPECT_THAT(a->header.shape, ElementsAre(2, 3));
    const std::vector<float> expected = {0, 1, 2, 3, 4, 5};
    EXPECT_EQ(std::memcmp(a->data.data(), expected.data(), 24), 0);
    ASSERT_TRUE(b.ok()) << b.error().message;
    EXPECT_THAT(b->header.shape, ElementsAre());
    EXPECT_THAT(b->data, ElementsAre(0xfb, 255, 255, 255, 255, 255, 255, 255));
  }
}

TEST(ArrayFile, ReadsNamesBeyondAsciiThatNumpyWrote) {
  const Bytes bytes = test::read_file(golden("numpy-2.4/savez_compressed.npz"));

  EXPECT_EQ(test::read_array(bytes, "gr\xc3\xb6\xc3\x9f\x65").value().data, Bytes(100));
}

TEST(ArrayFile, IsRejectedWithItsFirstBytesIfTheyMatchNoFormat) {
  const std::string model("GGUF\3\0\0\0", 8);
  for (const auto& [text, shown, mark] :
       {std::tuple(std::string("PK\7\x08"), "\"PK\\x07\\x08\"", std::string()),
        std::tuple(std::string("not an array"), "\"not an a\"",
                   std::string("; this is a text file")),
        std::tuple(std::string(), "\"\"", std::string()),
        std::tuple(model, "\"GGUF\\x03\\x00\\x00\\x00\"",
                   file_mark_text(Bytes(model.begin(), model.end())))}) {
    const std::string_view view = text;

    const Result<ArrayFile> file = ArrayFile::parse(Bytes(view.begin(), view.end()));

    ASSERT_FALSE(file.ok());
    EXPECT_EQ(file.error().code, Code::malformed);
    EXPECT_EQ(file.error().offset, 0u);
    EXPECT_EQ(file.error().message,
              concat("file begins with ", shown,
                     ", expected a file in the format .npy, .npz or .params", mark));
  }
}

TEST(ArrayFile, ReturnsTheErrorsOfEveryFormat) {
  Bytes npz = zip_of({{"a.npy", npy()}});
  for (const Bytes& whole : {npy(), npz, params("a")}) {
    const Result<ArrayFile> file = ArrayFile::parse(std::span(whole).first(whole.size() - 1));

    ASSERT_FALSE(file.ok());
    EXPECT_EQ(file.error().code, Code::malformed);
  }
}

TEST(ArrayFile, ListsItsNamesIfOneIsNotFound) {
  const Bytes bytes = zip_of({{"a.npy", npy()}, {"b\n.npy", npy()}});
  const ArrayFile file = ArrayFile::parse(bytes).value();

  const Result<std::size_t> found = file.find("c");

  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().code, Code::not_found);
  EXPECT_EQ(found.error().message, "member \"c\" of the file not found; members: \"a\", \"b\\n\"");
}

TEST(ArrayFile, ListsNoMoreThan16Names) {
  std::vector<ZipPart> parts;
  for (int i = 10; i < 30; ++i) parts.push_back({concat(i, ".npy"), npy()});
  const Bytes bytes = zip_of(parts);

  EXPECT_EQ(ArrayFile::parse(bytes)->names_text(),
            "\"10\", \"11\", \"12\", \"13\", \"14\", \"15\", \"16\", \"17\", \"18\", \"19\", "
            "\"20\", \"21\", \"22\", \"23\", \"24\", \"25\" and 4 more");
}

TEST(ArrayFile, ListsNoneIfThereAreNone) {
  const Bytes bytes = zip_of({}, {.comment = std::string(80, ' ')});

  EXPECT_EQ(ArrayFile::parse(bytes)->names_text(), "none");
}

// Linear look-ups of each name take 12 s of processor time.
TEST(ArrayFile, FindsManyLongNamesInSeconds) {
  constexpr int count = 60000;
  std::vector<ZipPart> parts;
  for (int i = 0; i < count; ++i) {
    parts.push_back({concat(std::string(200, 'n'), i, ".npy"), npy()});
  }
  const Bytes bytes = zip_of(parts);
  const std::clock_t begin = std::clock();

  const Result<ArrayFile> file = ArrayFile::parse(bytes);

  ASSERT_TRUE(file.ok()) << file.error().message;
  for (std::size_t i = 0; i < file->names().size(); ++i) {
    ASSERT_EQ(file->find(file->names()[i]).value(), i);
    ASSERT_TRUE(file->header(i).ok());
  }
  EXPECT_LT((std::clock() - begin) / CLOCKS_PER_SEC, 5);
}

TEST(ArrayFormat, IsKnownFromTheMarkAlone) {
  const Bytes npz{'P', 'K', 3, 4}, empty_npz{'P', 'K', 5, 6}, weights = params("a");

  EXPECT_EQ(array_format(Bytes(npy_magic.begin(), npy_magic.end())), ArrayFormat::npy);
  EXPECT_EQ(array_format(npz), ArrayFormat::npz);
  EXPECT_EQ(array_format(empty_npz), ArrayFormat::npz);
  EXPECT_EQ(array_format(std::span(weights).first(8)), ArrayFormat::params);
  EXPECT_EQ(array_format(std::span(npz).first(3)), std::nullopt);
}

TEST(ArrayFormat, IsNotThatOfAPyTorchArchive) {
  EXPECT_EQ(array_format(zip_of({{"archive/data.pkl", npy()}})), std::nullopt);
}

}  // namespace
}  // namespace gantry
