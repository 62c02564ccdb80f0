// SPDX-License-Identifier: Apache-2.0
//
// The disk cache of programs: a second process does not compile again, and no content of the
// directory prevents a kernel from running.
#include "tests/support/cached_file.hpp"
#include "world.hpp"

#include <filesystem>

namespace gantry::opencl::test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
namespace fs = std::filesystem;

class OpenclCache : public OpenclTest {
 protected:
  // Loads a module and runs its kernel, like a new process.
  void run(const std::vector<std::uint8_t>& payload, float value = 3) {
    const auto module = load(payload);
    void* const data = memory(16);
    const Status status =
        module->call("fill", {pointer_value(data), float_value(value), int_value(1), int_value(4)});
    ASSERT_TRUE(status.ok()) << status.error().message;
    EXPECT_THAT(floats_in(data, 4), Each(value));
  }
  std::vector<fs::path> files() const {
    std::vector<fs::path> found;
    if (!fs::exists(cache_directory())) return found;
    for (const auto& entry : fs::directory_iterator(cache_directory())) found.push_back(entry);
    return found;
  }
  const std::vector<std::uint8_t> payload_ = both_kernels();
};

TEST_F(OpenclCache, AvoidsTheSecondCompilation) {
  use_cache();
  run(payload_);
  EXPECT_EQ(between.source_programs, 1);
  ASSERT_EQ(files().size(), 1u) << "only launched programs are stored";

  restart();
  between = {};
  run(payload_);

  EXPECT_EQ(between.source_programs, 0);
  EXPECT_EQ(between.binary_programs, 1);
  EXPECT_THAT(host_.log, IsEmpty());
}

TEST_F(OpenclCache, AnnouncesOnlyCompilations) {
  use_cache();
  run(payload_);
  EXPECT_THAT(host_.works,
              ElementsAre(StartsWith("compiling kernel \"fill\" for opencl:0 ("),
                          StartsWith("first launch of kernel \"fill\" on opencl:0 (")));
  EXPECT_EQ(host_.running_works, 0);

  restart();
  run(payload_);

  EXPECT_EQ(host_.works.size(), 2u);
}

TEST_F(OpenclCache, StoresProgramsWithoutAWaitAtTheEnd) {
  use_cache();
  {
    const auto module = load(payload_);
    ASSERT_TRUE(
        module
            ->call("fill", {pointer_value(memory(16)), float_value(1), int_value(1), int_value(4)})
            .ok());
  }

  restart();

  EXPECT_EQ(files().size(), 1u);
}

TEST_F(OpenclCache, CompilesAgainAfterADamagedFile) {
  use_cache();
  run(payload_);
  const fs::path file = files().at(0);
  std::vector<std::uint8_t> bytes = gantry::test::read_file(file);
  bytes[bytes.size() / 2] ^= 1;
  gantry::test::write_file(file, bytes);
  fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write);

  restart();
  between = {};
  run(payload_);

  EXPECT_EQ(between.source_programs, 1);
  ASSERT_EQ(host_.log.size(), 1u);
  EXPECT_EQ(host_.log[0], "cache file " + file.string() + " is ignored: checksum does not match");
  restart();
  between = {};
  run(payload_);
  EXPECT_EQ(between.source_programs, 0) << "the file is written again";
}

TEST_F(OpenclCache, CompilesAgainAfterTheDriverRejectsTheBinary) {
  use_cache();
  run(payload_);
  const fs::path file = files().at(0);
  const std::string key = gantry::test::read_cached_file(file).key;
  DiskCache({.directory = cache_directory()}).store(key, std::vector<std::uint8_t>(64, 7));
  ASSERT_EQ(files().size(), 1u);

  restart();
  between = {};
  run(payload_);

  EXPECT_EQ(between.source_programs, 1);
  ASSERT_EQ(host_.log.size(), 1u);
  EXPECT_THAT(host_.log[0], HasSubstr("cache file " + file.string() + " is ignored: opencl:0 ("));
  EXPECT_THAT(host_.log[0], HasSubstr("rejects it: CL_"));
}

TEST_F(OpenclCache, RunsWithoutAWritableDirectory) {
  use_cache();
  gantry::test::write_file(cache_directory(), "a file where the directory should be");

  run(payload_);
  restart();
  run(payload_);

  EXPECT_EQ(between.source_programs, 2);
  ASSERT_EQ(host_.log.size(), 2u) << "one line for each process";
  EXPECT_THAT(host_.log[0], HasSubstr(" cannot be written: Not a directory"));
}

TEST_F(OpenclCache, SeparatesProgramsByBuildOptions) {
  use_cache();
  run(payload_);
  host_.options["build_options"] = "-cl-fast-relaxed-math";

  restart();
  between = {};
  run(payload_);

  EXPECT_EQ(between.source_programs, 1);
  EXPECT_EQ(files().size(), 2u);
}

TEST_F(OpenclCache, IsDisabledByItsOption) {
  host_.options["cache"] = false;
  use_cache();

  run(payload_);

  EXPECT_THAT(files(), IsEmpty());
}

TEST_F(OpenclCache, StoresBinariesThatLoadAsPayloads) {
  use_cache();
  run(payload_);
  const std::string binary = gantry::test::read_cached_file(files().at(0)).content;

  restart();
  between = {};
  run(payload_bytes("clbin", {fill}, binary), 5);

  EXPECT_EQ(between.source_programs, 0);
  EXPECT_EQ(files().size(), 1u) << "a binary payload is not cached";
}

}  // namespace
}  // namespace gantry::opencl::test
