// SPDX-License-Identifier: Apache-2.0
#include "core/writing/saved_container.hpp"

#include "core/writing/carrying_stream.hpp"
#include "tests/support/files.hpp"
#include "tests/unit/formats/fixtures.hpp"
#include "tests/unit/writing/bytes_of.hpp"

#include <gmock/gmock.h>

namespace gantry {
namespace {

using test::bytes_of;
using test::Words;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

// A container that was written to a file and read.
class SavedContainer : public ::testing::Test {
 protected:
  Container read(const Words& bytes) {
    test::write_file(temp_ / "model.bin", bytes.bytes());
    file_ = MappedFile::open(temp_ / "model.bin").value();
    return read_container_bytes(file_->bytes(), layouts_).value();
  }
  // Reads the bytes and writes them again.
  std::vector<std::uint8_t> written(const Words& bytes) {
    const Container container = read(bytes);
    const auto modules = listed_modules(container, file_);
    EXPECT_TRUE(modules.ok()) << modules.error().message;
    return bytes_of(write_listed_container(*modules, form_of(container).value()).value());
  }

  const test::TempDir temp_;
  const PayloadLayouts layouts_ = PayloadLayouts::built_in();
  std::shared_ptr<const MappedFile> file_;
};

Words example(const std::vector<std::uint8_t>& bytes) { return Words().bytes(bytes); }

struct Generated {
  std::string name;
  Words bytes;
  Generation form;
};

class SavedContainerOf : public SavedContainer, public ::testing::WithParamInterface<Generated> {};

TEST_P(SavedContainerOf, HasTheSameBytes) {
  const Words& bytes = GetParam().bytes;

  EXPECT_THAT(written(bytes), ElementsAreArray(bytes.bytes()));
  EXPECT_EQ(form_of(read(bytes)).value(), GetParam().form);
}

INSTANTIATE_TEST_SUITE_P(
    Generation, SavedContainerOf,
    ::testing::Values(
        Generated{"G1", test::container_g1(), Generation::g1},
        Generated{"G1WithoutImports", Words().u64(8).u64(0), Generation::g1},
        Generated{"G2", test::container_g2(), Generation::g2},
        // children in the order of import, one twice; the numbering of no exporter
        Generated{"G2Unordered",
                  test::layout_one(4,
                                   Words()
                                       .str("_lib")
                                       .str("VMExecutable")
                                       .str("a")
                                       .str("_lib")
                                       .str("VMExecutable")
                                       .str("b"),
                                   {0, 3, 3, 4, 4}, {3, 2, 3, 1}),
                  Generation::g2},
        Generated{"G3", example(test::example_g3()), Generation::g3},
        // no module imports module 2
        Generated{
            "G3Unreachable",
            test::layout_one(
                3, Words().str("_lib").str("VMExecutable").str("a").str("VMExecutable").str("b"),
                {0, 1, 1, 1}, {1}),
            Generation::g3},
        Generated{"G5", example(test::example_g5()), Generation::g5}),
    [](const auto& test) { return test.param.name; });

TEST_F(SavedContainer, HasTheFormOfTheReleaseAfterADevelopmentBuild) {
  Container container = read(example(test::example_g3()));

  for (const auto& [generation, form] :
       {std::pair(Generation::g3x, Generation::g3), std::pair(Generation::g4, Generation::g4)}) {
    container.facts.generation = generation;
    EXPECT_EQ(form_of(container).value(), form);
  }
}

TEST_F(SavedContainer, RefusesAContainerWithoutALengthHeader) {
  Container container = read(test::container_g1());
  container.facts.generation = Generation::g0;

  const auto form = form_of(container);

  ASSERT_FALSE(form.ok());
  EXPECT_EQ(form.error().code, Code::unsupported);
  EXPECT_EQ(form.error().message, "container is of generation G0, known forms are G1 to G5");
}

TEST_F(SavedContainer, RefusesAPayloadOfUnknownLength) {
  // A guess is not possible, because two payloads have unknown lengths.
  const Container container = read(test::layout_one(
      3, Words().str("_lib").str("acme.npu").text("0123456789").str("acme.npu").text("0123456789"),
      {0, 2, 2, 2}, {1, 2}));

  const auto modules = listed_modules(container, file_);

  ASSERT_FALSE(modules.ok());
  EXPECT_EQ(modules.error().code, Code::unsupported);
  EXPECT_EQ(modules.error().message,
            "payload of entry 1 \"acme.npu\" has no known length; the manifest of its plugin must "
            "declare its layout");
}

TEST(CarryingStream, CopiesOnlyBytesThatAreNotInItsFile) {
  const test::TempDir temp;
  constexpr std::size_t enough = CarryingStream::min_range_bytes;
  const std::string text(2 * enough, 'm');
  test::write_file(temp / "file", text);
  const auto file = MappedFile::open(temp / "file").value();
  const std::span<const std::uint8_t> mapped = file->bytes();
  const std::vector<std::uint8_t> other(enough, 'x');
  Pieces out;
  CarryingStream stream(file, out);

  stream.write(mapped.subspan(enough));
  EXPECT_EQ(out.memory_bytes(), 0u);
  stream.write(mapped.first(enough - 1));
  EXPECT_EQ(out.memory_bytes(), enough - 1);
  stream.write(other);
  EXPECT_EQ(out.memory_bytes(), 2 * enough - 1);

  const std::vector<std::uint8_t> bytes = bytes_of(out);
  EXPECT_EQ(std::string(bytes.begin(), bytes.end()),
            std::string(2 * enough - 1, 'm') + std::string(enough, 'x'));
}

TEST(CarryingStream, WithoutAFileCopiesAllBytes) {
  const std::vector<std::uint8_t> bytes(4096, 'x');
  Pieces out;

  CarryingStream(nullptr, out).write(bytes);

  EXPECT_EQ(out.memory_bytes(), 4096u);
}

}  // namespace
}  // namespace gantry
