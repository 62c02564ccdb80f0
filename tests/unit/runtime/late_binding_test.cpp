// SPDX-License-Identifier: Apache-2.0
//
// Modules that are bound after their file was loaded: their plugins are added later, or fail first.
#include "tests/support/artifact.hpp"
#include "tests/support/elf_builder.hpp"
#include "tests/unit/formats/fixtures.hpp"
#include "tests/unit/runtime/digits.hpp"
#include "tests/unit/runtime/program_plugin.hpp"

#include "core/engine/runtime/loaded_file.hpp"

#include <gmock/gmock.h>

#include <atomic>
#include <thread>

namespace gantry {
namespace {

using test::make_runtime;
using test::program_plugin;
using test::query_program_plugin;
using test::TempDir;
using test::Words;
using ::testing::HasSubstr;

class LateBinding : public ::testing::Test {
 protected:
  LateBinding() { program_plugin() = {}; }

  // One module without CPU code.
  std::string file(std::string_view key = "test.block", std::string_view name = "block.so") {
    const Words container = test::layout_one(1, Words().str(key).str("hello"), {0, 0}, {});
    const auto path = directory / name;
    test::write_file(path, test::ElfBuilder().object("__tvm_dev_mblob", container.bytes()).build());
    return path.string();
  }

  TempDir directory;
};

// The number of its device is released after the failure and reserved again.
TEST_F(LateBinding, RetriesAPluginThatCouldNotBeCreated) {
  Runtime runtime = make_runtime();
  ASSERT_TRUE(runtime.add_plugin(query_program_plugin).ok());
  program_plugin().refusals = 2;

  const auto first = runtime.load(file()), second = runtime.load(file()),
             third = runtime.load(file());

  ASSERT_FALSE(first.ok());
  EXPECT_THAT(first.error().message, HasSubstr("the unit is busy"));
  ASSERT_FALSE(second.ok());
  EXPECT_THAT(second.error().message, HasSubstr("the unit is busy"));
  ASSERT_TRUE(third.ok()) << third.error().message;
  EXPECT_EQ(runtime.device("test_npu:1").value().index, 1);
}

TEST_F(LateBinding, ReportsAPayloadThatThePluginRejects) {
  Runtime runtime = make_runtime();
  const Module model = runtime.load(file("test.broken"), {.allow_missing = true}).value();
  ASSERT_TRUE(runtime.add_plugin(query_program_plugin).ok());

  const Status bound = model.bind_missing();

  ASSERT_FALSE(bound.ok());
  EXPECT_EQ(bound.error().code, Code::unavailable);
  EXPECT_THAT(bound.error().message,
              HasSubstr("fails as unavailable without a reason\n  while binding entry 0"));
}

// It would wait for itself.
TEST_F(LateBinding, RefusesAPluginThatRequestsItself) {
  Runtime runtime = make_runtime();
  const std::string path = file();
  const Module model = runtime.load(path, {.allow_missing = true}).value();
  ASSERT_TRUE(runtime.add_plugin(query_program_plugin).ok());
  std::vector<std::string> errors;
  program_plugin().creating = [&] {
    errors.push_back(model.bind_missing().error().message);
    errors.push_back(runtime.load(file("test.block", "other.so")).error().message);
  };

  EXPECT_TRUE(model.bind_missing().ok());

  EXPECT_THAT(errors,
              ::testing::ElementsAre(HasSubstr("requests itself while it is being created"),
                                     HasSubstr("requests itself while it is being created")));
}

TEST_F(LateBinding, IsRefusedWithoutAModel) {
  EXPECT_EQ(Module().bind_missing().error().message,
            "module_bind_missing: the object is NULL, expected a module");
}

TEST_F(LateBinding, DestroysNoPluginThatCouldNotBeCreated) {
  Runtime runtime = make_runtime();
  ASSERT_TRUE(runtime.add_plugin(query_program_plugin).ok());
  program_plugin().refusals = 1;

  ASSERT_FALSE(runtime.load(file()).ok());

  EXPECT_EQ(program_plugin().instances, 0);
}

// A look-up finds a module either unbound or completely bound, including its device type.
TEST_F(LateBinding, IsAtomicForLookUpsOnOtherThreads) {
  for (int round = 0; round < 20; ++round) {
    Runtime runtime = make_runtime();
    const Module model = runtime.load(file(), {.allow_missing = true}).value();
    std::atomic<bool> stop = false;
    std::atomic<int> wrong = 0;
    std::vector<std::thread> readers;
    for (int i = 0; i < 2; ++i) {
      readers.emplace_back([&] {
        while (!stop) {
          const auto text = model.function("text");
          if (!text.ok()) {
            wrong += text.error().reason == "MODULE_UNBOUND" ? 0 : 1;
          } else if (const auto said = (*text)(); !said.ok() || said->text().value() != "hello") {
            ++wrong;
          }
        }
      });
    }
    ASSERT_TRUE(runtime.add_plugin(query_program_plugin).ok());
    const Status bound = model.bind_missing();
    stop = true;
    for (std::thread& reader : readers) reader.join();

    ASSERT_TRUE(bound.ok()) << bound.error().message;
    EXPECT_EQ(wrong, 0);
    EXPECT_TRUE(model.function("text").ok());
  }
}

// A file is identified by its inode, which the system may reuse unless the file is mapped.
TEST(LoadedFiles, KeepAFileWhileItsRootIsAlive) {
  const TempDir directory;
  test::write_file(directory / "a", "some bytes");
  std::shared_ptr<const MappedFile> file = MappedFile::open(directory / "a").value();
  const std::weak_ptr<const MappedFile> watched = file;
  LoadedFiles files;
  auto root = files.get({file->identity(), {}}, [&] {
    const auto artifact = test::artifact_of({"key"});
    artifact->file = file;
    return new_module_node(artifact, "key", 0);
  });
  ASSERT_TRUE(root.ok());

  file.reset();
  EXPECT_FALSE(watched.expired());
  root = not_found("gone");
  EXPECT_TRUE(watched.expired());
}

}  // namespace
}  // namespace gantry
