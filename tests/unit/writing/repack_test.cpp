// SPDX-License-Identifier: Apache-2.0
#include "core/writing/repack.hpp"

#include "tests/support/files.hpp"
#include "tests/support/words.hpp"

#include <gmock/gmock.h>

#include <fstream>

namespace gantry {
namespace {

namespace fs = std::filesystem;
using test::Words;

class RepackFile : public ::testing::Test {
 protected:
  RepackFile() {
    const Words content = Words()
                              .u64(3)
                              .str("_lib")
                              .str("VMExecutable")
                              .str(std::string(300, 'm'))
                              .str("_import_tree")
                              .u64s({0, 1, 1})
                              .u64s({1});
    test::write_file(temp_ / "a.bin", Words().u64(content.size()).bytes(content.bytes()).bytes());
    fs::create_directory(temp_ / "out");
  }

  Result<RepackReport> repack(const RepackOptions& options) const {
    const ContainerFile source = ContainerFile::open(temp_ / "a.bin", layouts_).value();
    OutputFile output = OutputFile::open(temp_ / "out/b.bin", {}).value();
    return gantry::repack(source, layouts_, output, options);
  }

  const test::TempDir temp_;
  const PayloadLayouts layouts_ = PayloadLayouts::built_in();
};

TEST_F(RepackFile, ReportsItsModules) {
  RepackOptions options;
  options.form = PackForm::container;

  const auto report = repack(options);

  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(report->to, Generation::g3);
  EXPECT_EQ(report->bytes, fs::file_size(temp_ / "a.bin"));
  ASSERT_EQ(report->modules.size(), 2u);
  EXPECT_EQ(report->modules[0].type_key, "_lib");
  EXPECT_EQ(report->modules[0].bytes, 0u);
  EXPECT_EQ(report->modules[1].type_key, "VMExecutable");
  EXPECT_EQ(report->modules[1].entry, 1u);
  EXPECT_EQ(report->modules[1].bytes, 308u);
  EXPECT_EQ(test::read_file(temp_ / "out/b.bin"), test::read_file(temp_ / "a.bin"));
}

TEST_F(RepackFile, AlignsAndMovesAtOnceIfOnlyTextsOfOpenclDiffer) {
  const auto container_of = [](std::string_view text) {
    const Words content = Words()
                              .u64(2)
                              .str("opencl")
                              .str("cl")
                              .u64(1)
                              .str("f")
                              .str("")
                              .u64(0)
                              .u64(0)
                              .str(text)
                              .str("_import_tree")
                              .u64s({0, 0})
                              .u64s({});
    return Words().u64(content.size()).bytes(content.bytes());
  };
  test::write_file(temp_ / "a.bin", container_of("kernel void f() {}\n").bytes());
  RepackOptions options;
  options.form = PackForm::container;
  options.generation = Generation::g3;
  options.is_aligned = true;

  const auto report = repack(options);

  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_THAT(
      test::read_file(temp_ / "out/b.bin"),
      ::testing::ElementsAreArray(container_of("// Function: f\nkernel void f() {}\n").bytes()));
}

TEST_F(RepackFile, IsNotWrittenIfItCannotBeVerified) {
  RepackOptions options;
  options.form = PackForm::container;
  std::string seen;
  options.verify = [&](const fs::path& path) -> Status {
    seen = path.filename().native();
    EXPECT_EQ(fs::file_size(path), fs::file_size(temp_ / "a.bin"));
    return invalid("no plugin loads it");
  };

  const auto report = repack(options);

  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().message, "no plugin loads it");
  EXPECT_EQ(seen, "b.bin");
  EXPECT_TRUE(fs::is_empty(temp_ / "out"));
}

// What is verified runs.
TEST_F(RepackFile, IsVerifiedElsewhereIfOthersCanReplaceItsDirectory) {
  fs::create_directory(temp_ / "temporary");
  fs::permissions(temp_ / "out", fs::perms::all);
  RepackOptions options;
  options.form = PackForm::container;
  options.temporary = temp_ / "temporary";
  fs::path seen;
  options.verify = [&](const fs::path& path) -> Status {
    seen = path.parent_path().parent_path();
    return {};
  };

  const auto report = repack(options);

  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(seen, temp_ / "temporary");
  EXPECT_EQ(test::read_file(temp_ / "out/b.bin"), test::read_file(temp_ / "a.bin"));
  EXPECT_TRUE(fs::is_empty(temp_ / "temporary"));
}

TEST_F(RepackFile, IsNotWrittenIfItsSourceChanges) {
  RepackOptions options;
  options.form = PackForm::container;
  options.progress = [&](std::string_view step) {
    if (step != "checking the result") return;
    std::fstream file(temp_ / "a.bin", std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(200);
    file.put('x');
  };

  const auto report = repack(options);

  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().code, Code::unavailable);
  EXPECT_EQ(report.error().message, concat("\"", (temp_ / "a.bin").native(),
                                           "\" changes while it is read\n  while reading the "
                                           "result again"));
  EXPECT_TRUE(fs::is_empty(temp_ / "out"));
}

}  // namespace
}  // namespace gantry
