// SPDX-License-Identifier: Apache-2.0
#include "core/writing/parameter_file.hpp"
#include "core/formats/arrays/npy.hpp"
#include "core/formats/arrays/params.hpp"
#include "tests/support/files.hpp"
#include "tests/support/npz_file.hpp"
#include "tests/support/params_file.hpp"
#include "tests/unit/arrays/zip_bytes.hpp"
#include "tests/unit/writing/bytes_of.hpp"

#include <gmock/gmock.h>

#include <cstring>
#include <numeric>

namespace gantry {
namespace {

using test::TempDir;
using test::zip_of;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::StartsWith;

constexpr gantry_dtype int16{0, 16, 1};

// A matrix int16[2, 3] with the elements 1 to 6 in a file of each format.
class ParameterFile : public ::testing::Test {
 protected:
  ParameterFile() {
    std::vector<std::int16_t> numbers(6);
    std::iota(numbers.begin(), numbers.end(), std::int16_t{1});
    const auto* first = reinterpret_cast<const std::uint8_t*>(numbers.data());
    const std::vector<std::uint8_t> data(first, first + 12);
    const std::vector<std::int64_t> shape = {2, 3};
    test::write_file(directory / "m.npy", npy_bytes(int16, shape, data).value());
    const NpzItem items[] = {{"m", int16, shape, data}, {"other", int16, shape, data}};
    EXPECT_TRUE(test::write_npz(directory / "m.npz", items).ok());
    test::write_file(directory / "z.npz",
                     zip_of({{"m.npy", npy_bytes(int16, shape, data).value(), 8}}));
    const Param param{"m", {int16, shape, data, 0}};
    test::write_file(directory / "m.params", test::params_bytes({&param, 1}));
    test::write_file(directory / "text", "not an array");
  }

  Result<Parameter> find(std::string file, std::string member, bool transpose = false) {
    ParameterSource source;
    source.name = "w";
    source.file = directory / file;
    source.member = std::move(member);
    source.transpose = transpose;
    source.location = "r.yaml:1:1: parameters.w";
    return ParameterFiles().find(source);
  }

  Result<std::vector<ParameterSource>> all_of(std::string_view file) {
    ParameterSource source;
    source.file = directory / file;
    source.location = "r.yaml:1:1: parameters.w";
    return ParameterFiles().all_of(source);
  }

  std::string error_of(std::string file, std::string member, bool transpose = false) {
    return find(std::move(file), std::move(member), transpose).error().message;
  }
  std::string below(std::string_view file) {
    return "\n  in " + (directory / file).native() + "\n  for r.yaml:1:1: parameters.w";
  }

  // Returns the elements that are written.
  static std::vector<std::int16_t> elements(const Parameter& parameter) {
    Pieces pieces;
    if (const auto* range = std::get_if<FileRange>(&parameter.data)) pieces.append(*range);
    if (const auto* made = std::get_if<MadeBytes>(&parameter.data)) pieces.append(*made);
    if (const auto* read = std::get_if<StreamedBytes>(&parameter.data)) pieces.append(*read);
    const std::vector<std::uint8_t> bytes = test::bytes_of(pieces);
    std::vector<std::int16_t> numbers(bytes.size() / 2);
    std::memcpy(numbers.data(), bytes.data(), bytes.size());
    return numbers;
  }

  const TempDir directory;
};

TEST_F(ParameterFile, IsTheSameArrayInEveryKind) {
  for (const auto& [file, member] :
       {std::pair("m.npy", ""), {"m.npz", "m"}, {"z.npz", "m"}, {"m.params", "m"}}) {
    const Result<Parameter> found = find(file, member);
    ASSERT_TRUE(found.ok()) << found.error().message;
    EXPECT_EQ(found->name, "w");
    EXPECT_EQ(type_text({found->dtype, found->shape}), "int16[2, 3]");
    EXPECT_EQ(data_bytes(*found), 12u);
    EXPECT_THAT(elements(*found), ElementsAre(1, 2, 3, 4, 5, 6)) << file;
  }
}

// Data of uncompressed files are not read before they are written.
TEST_F(ParameterFile, StaysInItsFile) {
  EXPECT_TRUE(std::holds_alternative<FileRange>(find("m.npz", "m").value().data));
  EXPECT_TRUE(std::holds_alternative<FileRange>(find("m.npy", "").value().data));
  EXPECT_TRUE(std::holds_alternative<FileRange>(find("m.params", "m").value().data));
}

// The largest part that is written at once, and the sum of all.
class MeasuredStream : public OutputStream {
 public:
  std::size_t largest = 0, sum = 0;

 protected:
  void put(std::span<const std::uint8_t> bytes) override {
    largest = std::max(largest, bytes.size());
    sum += bytes.size();
  }
};

TEST_F(ParameterFile, IsUnpackedInPartsWhenItIsWritten) {
  constexpr std::size_t megabyte = std::size_t{1} << 20, count = megabyte + 5;
  const std::vector<std::uint8_t> npy =
      npy_bytes(int16, std::vector<std::int64_t>{count}, std::vector<std::uint8_t>(2 * count))
          .value();
  test::write_file(directory / "large.npz", zip_of({{"m.npy", npy, 8}}));
  const Parameter parameter = find("large.npz", "m").value();
  const auto* const streamed = std::get_if<StreamedBytes>(&parameter.data);
  ASSERT_NE(streamed, nullptr);
  MeasuredStream out;

  ASSERT_TRUE(streamed->write(out).ok());

  EXPECT_EQ(out.sum, 2 * count);
  EXPECT_EQ(out.largest, megabyte);
}

TEST_F(ParameterFile, NamesTheFileOfWrongPackedData) {
  const std::vector<std::uint8_t> npy =
      npy_bytes(int16, std::vector<std::int64_t>{1}, std::vector<std::uint8_t>{1, 2}).value();
  test::write_file(directory / "bad.npz", zip_of({{"m.npy", npy, 8, 0, -1, -1, 7}}));
  const Parameter parameter = find("bad.npz", "m").value();

  MeasuredStream out;

  const Status read = std::get<StreamedBytes>(parameter.data).write(out);

  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code, Code::malformed);
  EXPECT_THAT(read.error().message, StartsWith("npz member \"m.npy\": checksum of the data is "));
  EXPECT_THAT(read.error().message, EndsWith("\n  in " + (directory / "bad.npz").native()));
}

TEST_F(ParameterFile, IsTransposedOnRequest) {
  for (const auto& [file, member] :
       {std::pair("m.npy", ""), {"m.npz", "m"}, {"z.npz", "m"}, {"m.params", "m"}}) {
    const Result<Parameter> found = find(file, member, true);
    ASSERT_TRUE(found.ok()) << found.error().message;
    EXPECT_EQ(type_text({found->dtype, found->shape}), "int16[3, 2]");
    EXPECT_THAT(elements(*found), ElementsAre(1, 4, 2, 5, 3, 6)) << file;
  }
}

TEST_F(ParameterFile, MustHaveTheTypeThatTheRecipeRequires) {
  ParameterSource source{"w",   directory / "m.npy", "", true, parse_type("int16[2, 3]").value(),
                         "here"};

  const Result<Parameter> found = ParameterFiles().find(source);

  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().code, Code::invalid);
  EXPECT_EQ(found.error().message, "array is int16[3, 2], the recipe requires int16[2, 3]\n  in " +
                                       source.file.native() + "\n  for here");
}

TEST_F(ParameterFile, ListsTheMembersOfTheFile) {
  EXPECT_EQ(find("m.params", "n").error().code, Code::not_found);
  EXPECT_EQ(error_of("m.params", "n"),
            "member \"n\" of the file not found; members: \"m\"" + below("m.params"));
  EXPECT_EQ(error_of("m.npz", ""),
            "no member is named, the file has \"m\", \"other\"" + below("m.npz"));
  EXPECT_EQ(error_of("m.params", ""), "no member is named, the file has \"m\"" + below("m.params"));
  EXPECT_EQ(find("m.npz", "n").error().code, Code::not_found);
}

TEST_F(ParameterFile, HasNoMembersAsNpy) {
  EXPECT_EQ(find("m.npy", "m").error().code, Code::invalid);
  EXPECT_EQ(error_of("m.npy", "m"),
            "member \"m\" is named, an .npy file has no members" + below("m.npy"));
}

TEST_F(ParameterFile, IsRecognizedByItsBytes) {
  EXPECT_EQ(find("text", "").error().code, Code::malformed);
  EXPECT_EQ(error_of("text", ""),
            "file begins with \"not an a\", expected a file in the format .npy, .npz or .params; "
            "this is a text file" +
                below("text"));
}

TEST_F(ParameterFile, IsTransposedWithoutElements) {
  test::write_file(directory / "none.npy",
                   npy_bytes(int16, std::vector<std::int64_t>{0, 3}, {}).value());

  const Result<Parameter> found = find("none.npy", "", true);

  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_EQ(type_text({found->dtype, found->shape}), "int16[3, 0]");
  EXPECT_THAT(elements(*found), ElementsAre());
}

TEST_F(ParameterFile, IsTransposedOnlyAsAMatrix) {
  const std::vector<std::int64_t> shape = {6};
  test::write_file(directory / "v.npy",
                   npy_bytes(int16, shape, std::vector<std::uint8_t>(12)).value());

  EXPECT_EQ(error_of("v.npy", "", true),
            "array is int16[6], only a matrix can be transposed" + below("v.npy"));
}

TEST_F(ParameterFile, IsOpenedOnceForSeveralParameters) {
  const std::filesystem::path path = directory / "m.npz";
  ParameterFiles files;
  ASSERT_TRUE(files.find({"a", path, "m", false, {}, ""}).ok());
  std::filesystem::remove(path);

  const Result<Parameter> second = files.find({"b", path, "other", false, {}, ""});

  ASSERT_TRUE(second.ok()) << second.error().message;
  EXPECT_THAT(elements(*second), ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST_F(ParameterFile, MustExist) { EXPECT_EQ(find("none.npy", "").error().code, Code::not_found); }

TEST_F(ParameterFile, HasAParameterForEachOfItsArrays) {
  const auto of_npz = all_of("m.npz");
  const auto of_params = all_of("m.params");

  ASSERT_TRUE(of_npz.ok()) << of_npz.error().message;
  ASSERT_EQ(of_npz->size(), 2u);
  EXPECT_EQ((*of_npz)[1].name, "other");
  EXPECT_EQ((*of_npz)[1].member, "other");
  EXPECT_EQ((*of_npz)[1].file, directory / "m.npz");
  ASSERT_TRUE(of_params.ok()) << of_params.error().message;
  ASSERT_EQ(of_params->size(), 1u);
  EXPECT_EQ((*of_params)[0].name, "m");
}

TEST_F(ParameterFile, WithoutNamesIsNoSetOfParameters) {
  const auto of_npy = all_of("m.npy");
  const auto missing = all_of("none.npz");

  ASSERT_FALSE(of_npy.ok());
  EXPECT_EQ(of_npy.error().message,
            "an .npy file has an array without a name; list it under parameters" + below("m.npy"));
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, Code::not_found);
}

}  // namespace
}  // namespace gantry
