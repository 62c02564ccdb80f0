// SPDX-License-Identifier: Apache-2.0
#include "core/base/output_file.hpp"

#include "tests/support/files.hpp"

#include <gantry/quoted.hpp>

#include <gmock/gmock.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

namespace gantry {
namespace {

namespace fs = std::filesystem;
using test::TempDir;
using ::testing::ElementsAreArray;

// Paths to one input, "in".
class OutputFileOfInput : public ::testing::TestWithParam<const char*> {
 protected:
  OutputFileOfInput() {
    test::write_file(temp_ / "in", "precious");
    fs::create_directory(temp_ / "directory");
    fs::create_directory_symlink(".", temp_ / "link");
    fs::create_hard_link(temp_ / "in", temp_ / "other");
    inputs_.add(temp_ / "in");
  }
  ~OutputFileOfInput() override {
    EXPECT_THAT(test::read_file(temp_ / "in"), ElementsAreArray(std::string("precious")));
  }

  const TempDir temp_;
  InputFiles inputs_;
};

TEST_P(OutputFileOfInput, IsRefused) {
  const fs::path target = temp_ / GetParam();

  const auto file = OutputFile::open(target, inputs_);

  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.error().code, Code::invalid);
  EXPECT_EQ(file.error().reason, "OUTPUT_IS_INPUT");
  const std::string same = std::string_view(GetParam()) == "in"
                               ? ""
                               : ", the same file as " + quoted((temp_ / "in").native());
  EXPECT_EQ(file.error().message,
            concat("cannot write ", quoted(target.native()), ": it is an input of this command",
                   same, "; choose another output"));
}

INSTANTIATE_TEST_SUITE_P(Paths, OutputFileOfInput,
                         ::testing::Values("in", "directory/../in", "link/in", "other"));

// The input takes the name of the output while the output is written.
TEST(OutputFile, IsNotMovedOverAnInput) {
  const TempDir temp;
  test::write_file(temp / "in", "precious");
  InputFiles inputs;
  inputs.add(temp / "in");
  auto file = OutputFile::open(temp / "out", inputs);
  ASSERT_TRUE(file.ok());
  fs::rename(temp / "in", temp / "out");

  const Status status = file->finish("text");

  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().reason, "OUTPUT_IS_INPUT");
  EXPECT_THAT(test::read_file(temp / "out"), ElementsAreArray(std::string("precious")));
}

TEST(OutputFile, IsCreatedWhenItIsWritten) {
  const TempDir temp;

  const auto file = OutputFile::open(temp / "out", {});

  ASSERT_TRUE(file.ok());
  EXPECT_TRUE(fs::is_empty(temp.path()));
}

TEST(OutputFile, ReplacesAFileThatIsNoInput) {
  const TempDir temp;
  test::write_file(temp / "out", "old");
  InputFiles inputs;
  inputs.add(temp / "missing");
  inputs.add(temp.path());

  auto file = OutputFile::open(temp / "out", inputs);

  ASSERT_TRUE(file.ok() && file->finish("new").ok());
  EXPECT_THAT(test::read_file(temp / "out"), ElementsAreArray(std::string("new")));
  EXPECT_FALSE(file->is_standard_output());
}

TEST(OutputFile, FollowsLinksToTheDirectory) {
  const TempDir temp;
  fs::create_directory(temp / "real");
  fs::create_symlink("real", temp / "link");

  ASSERT_TRUE(OutputFile::open(temp / "link/out", {})->finish("text").ok());

  EXPECT_THAT(test::read_file(temp / "real/out"), ElementsAreArray(std::string("text")));
}

TEST(OutputFile, IsWrittenToAPipeAndToALinkToOne) {
  const TempDir temp;
  const fs::path pipe = temp / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  fs::create_symlink("pipe", temp / "link");
  for (const char* name : {"pipe", "link"}) {
    std::vector<std::uint8_t> received;
    std::thread reader([&] { received = test::read_file(pipe); });

    auto file = OutputFile::open(temp / name, {});
    ASSERT_TRUE(file.ok() && file->finish("text").ok());
    { const OutputFile closed = std::move(*file); }

    reader.join();
    EXPECT_THAT(received, ElementsAreArray(std::string("text")));
  }
  EXPECT_TRUE(fs::is_fifo(pipe));
}

TEST(OutputFile, IsWrittenToADevice) {
  ASSERT_TRUE(OutputFile::open("/dev/null", {})->finish("text").ok());

  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST(OutputFile, ReportsAFullDevice) {
  const Status status = OutputFile::open("/dev/full", {})->finish("text");

  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, Code::unavailable);
  EXPECT_EQ(status.error().message, "cannot write \"/dev/full\": No space left on device");
}

TEST(OutputFile, NamedByAHyphenIsStandardOutput) {
  ::testing::internal::CaptureStdout();
  auto file = OutputFile::open("-", {});
  ASSERT_TRUE(file.ok() && file->finish("text").ok());

  EXPECT_TRUE(file->is_standard_output());
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "text");
  EXPECT_FALSE(fs::exists("-"));
}

// Redirects standard output to a file while it exists.
class FileForStandardOutput {
 public:
  explicit FileForStandardOutput(const fs::path& file) : saved_(::dup(STDOUT_FILENO)) {
    const int descriptor = ::open(file.c_str(), O_WRONLY);
    ::dup2(descriptor, STDOUT_FILENO);
    ::close(descriptor);
  }
  ~FileForStandardOutput() {
    ::dup2(saved_, STDOUT_FILENO);
    ::close(saved_);
  }
  FileForStandardOutput(const FileForStandardOutput&) = delete;
  FileForStandardOutput& operator=(const FileForStandardOutput&) = delete;

 private:
  int saved_;
};

TEST(OutputFile, NamedByALinkToTheFileOfStandardOutputIsStandardOutput) {
  const TempDir temp;
  test::write_file(temp / "file", "");
  const FileForStandardOutput redirected(temp / "file");

  auto file = OutputFile::open("/dev/stdout", {});

  ASSERT_TRUE(file.ok() && file->finish("text").ok());
  EXPECT_TRUE(file->is_stream());
  EXPECT_TRUE(file->is_standard_output());
  EXPECT_THAT(test::read_file(temp / "file"), ElementsAreArray(std::string("text")));
}

TEST(OutputFile, NamedAsTheFileOfStandardOutputReplacesIt) {
  const TempDir temp;
  test::write_file(temp / "file", "");
  const FileForStandardOutput redirected(temp / "file");

  const auto file = OutputFile::open(temp / "file", {});

  ASSERT_TRUE(file.ok());
  EXPECT_FALSE(file->is_stream());
}

TEST(OutputFile, ReportsThatStandardOutputIsClosed) {
  const int saved = ::dup(STDOUT_FILENO);
  ::close(STDOUT_FILENO);

  const auto file = OutputFile::open("-", {});

  ::dup2(saved, STDOUT_FILENO);
  ::close(saved);
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.error().message, "cannot write \"-\": Bad file descriptor");
}

TEST(OutputFile, RefusesStandardOutputThatIsAnInput) {
  const TempDir temp;
  test::write_file(temp / "in", "precious");
  InputFiles inputs;
  inputs.add(temp / "in");
  const FileForStandardOutput redirected(temp / "in");

  const auto file = OutputFile::open("-", inputs);

  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.error().reason, "OUTPUT_IS_INPUT");
}

TEST(OutputFile, RefusesALinkToAFile) {
  const TempDir temp;
  test::write_file(temp / "file", "precious");
  fs::create_symlink("file", temp / "link");

  const auto file = OutputFile::open(temp / "link", {});

  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.error().message, concat("cannot write ", quoted((temp / "link").native()),
                                         ": it exists and is not a regular file"));
}

TEST(OutputFile, ReplacesOnlyAFileOfItsKind) {
  const TempDir temp;
  test::write_file(temp / "old", "kind");
  test::write_file(temp / "other", "precious");
  const auto accepts = [](std::span<const std::uint8_t> bytes) { return bytes.front() == 'k'; };
  const auto check = [&](const char* name) {
    return OutputFile::open(temp / name, {})->check_replaces("a kind", accepts);
  };

  EXPECT_TRUE(check("old").ok());
  EXPECT_TRUE(check("new").ok());
  EXPECT_TRUE(OutputFile::open("/dev/null", {})->check_replaces("a kind", accepts).ok());
  const Status refused = check("other");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::invalid);
  EXPECT_EQ(refused.error().message,
            concat("cannot write ", quoted((temp / "other").native()),
                   ": it exists and is not a kind; remove it or choose another output"));
}

}  // namespace
}  // namespace gantry
