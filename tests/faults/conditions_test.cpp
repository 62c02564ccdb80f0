// SPDX-License-Identifier: Apache-2.0
//
// Files that disappear or shrink, and signals. Each causes one error and status 1, or has no
// effect; no temporary file remains. Resource limits: limits_test.cpp.
#include "core/writing/pack.hpp"
#include "tests/faults/outcome.hpp"
#include "tests/support/built_runtime.hpp"

#include <gantry/embed/executor.hpp>

#include <gmock/gmock.h>

#include <sys/time.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <functional>

namespace gantry {
namespace {

using test::Ending;
using test::expect_refused;
using test::Job;
using test::Scene;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;

// A recipe of a graph with one parameter: the 256 bytes that follow the header of w.npy.
Recipe one_array(const test::TempDir& directory) {
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (64,), }";
  header.resize(128 - 10 - 1, ' ');
  test::write_file(directory / "w.npy", std::string("\x93NUMPY\x01\x00", 8) +
                                            static_cast<char>(header.size() + 1) + '\0' + header +
                                            '\n' + std::string(256, 'd'));
  auto recipe = parse_recipe(
      "schema: \"1.0\"\n"
      "graph: {inputs: {x: \"float32[1]\"}, operators: [], outputs: [x]}\n"
      "parameters: {w: {file: w.npy}}\n",
      "r.yaml", directory.path());
  EXPECT_TRUE(recipe.ok()) << recipe.error().message;
  return std::move(*recipe);
}

std::filesystem::path copied_artifact(const Scene& scene) {
  const auto path = scene.directory() / "model.so";
  std::filesystem::copy_file(test::golden("tvm-0.12/digits_mlp_llvm.so"), path);
  return path;
}

// Called in the plugin's create: after the artifact is read, before it is opened.
std::function<void()>& while_created() {
  static std::function<void()> hook;
  return hook;
}

const gantry_plugin_table* meddling_plugin(const gantry_host_info*, gantry_status*) {
  static constexpr gantry_loader_table loader = {
      .struct_size = sizeof(gantry_loader_table),
      .type_key = "GraphExecutorFactory",
      .load_binary = [](void*, const gantry_blob* blob, gantry_object*, gantry_module*,
                        std::uint64_t*, gantry_status* status) -> gantry_code {
        return gantry_fail(status, GANTRY_MALFORMED, "TEST", blob->size > 0 ? "read" : "empty");
      }};
  static constexpr const gantry_loader_table* loaders[] = {&loader};
  static constexpr gantry_plugin_table table = {
      .struct_size = sizeof(gantry_plugin_table),
      .abi = GANTRY_PLUGIN_ABI,
      .id = "test.meddling",
      .version = "1.0.0",
      .vendor = "gantry",
      .display_name = "meddles with files",
      .license = "Apache-2.0",
      .loaders = loaders,
      .loader_count = 1,
      .create = [](const gantry_host*, void**, gantry_status*) -> gantry_code {
        return while_created()(), GANTRY_OK;
      },
      .destroy = [](void*) {}};
  return &table;
}

// The library is opened by the descriptor of the file that was read. The loader of the plugin, which
// runs later, refuses its payload.
TEST(FileVanishes, BetweenReadingAndOpeningHasNoEffect) {
  const test::TempDir directory;
  const auto path = directory / "model.so";
  std::filesystem::copy_file(test::golden("tvm-0.12/digits_mlp_llvm.so"), path);
  while_created() = [&] { std::filesystem::remove(path); };
  auto runtime = Runtime::create({.only_these_plugins = true});
  ASSERT_TRUE(runtime->add_plugin(meddling_plugin).ok());

  const auto module = runtime->load(path.string());

  EXPECT_FALSE(std::filesystem::exists(path));
  ASSERT_FALSE(module.ok());
  EXPECT_THAT(module.error().message, HasSubstr("while loading entry 0 \"GraphExecutorFactory\""));
}

// The compiler is another program, so pack checks the file that it should have written.
TEST(FileVanishes, IsReportedIfTheCompilerDidNotWriteIt) {
  const Scene scene;
  test::write_file(scene.directory() / "cc", std::string_view("#!/bin/sh\nexit 0\n"));

  const Ending run = test::run_with(scene.pack(), {});

  expect_refused(scene, run);
  EXPECT_THAT(run.err, AllOf(HasSubstr("library.so"), HasSubstr("does not exist")));
}

TEST(FileVanishes, WithItsDirectoryDuringPackIsReported) {
  const Scene scene;
  test::write_file(scene.directory() / "cc",
                   std::string_view("#!/bin/sh\nwhile [ \"$1\" != -o ]; do shift; done\n"
                                    "exec rm -r \"${2%/*}\"\n"));

  const Ending run = test::run_with(scene.pack(), {});

  expect_refused(scene, run);
  EXPECT_THAT(run.err, AllOf(HasSubstr("library.so"), HasSubstr("does not exist")));
}

// pack keeps the descriptor of a file open after it reads the header.
TEST(FileVanishes, AfterItsHeaderIsReadHasNoEffect) {
  const test::TempDir directory;
  const Recipe recipe = one_array(directory);
  PackOptions options;
  options.progress = [&](std::string_view step) {
    if (step.starts_with("writing a container")) std::filesystem::remove(directory / "w.npy");
  };

  const Status packed = pack(recipe, directory / "out.so", options);

  EXPECT_TRUE(packed.ok()) << packed.error().message;
}

TEST(FileVanishes, BeforeItIsReadIsReportedWithItsName) {
  const Scene scene;
  std::filesystem::remove(scene.input());

  const Ending run = test::run_with(scene.run(), {});

  expect_refused(scene, run);
  EXPECT_THAT(run.err, AllOf(HasSubstr("x.npy"), HasSubstr("does not exist")));
}

// pack copies data with read(), which reports the end of the file.
TEST(FileShrinks, BetweenItsHeaderAndItsDataIsReportedByPack) {
  const test::TempDir directory;
  const Recipe recipe = one_array(directory);
  PackOptions options;
  options.progress = [&](std::string_view step) {
    if (step.starts_with("writing a container"))
      std::filesystem::resize_file(directory / "w.npy", 200);
  };

  const Status packed = pack(recipe, directory / "out.so", options);

  ASSERT_FALSE(packed.ok());
  EXPECT_EQ(packed.error().code, Code::malformed);
  EXPECT_EQ(packed.error().offset, 200u);
  EXPECT_EQ(packed.error().message,
            (directory / "w.npy").string() + ": ends at 200, needs 384 bytes");
  EXPECT_FALSE(std::filesystem::exists(directory / "out.so"));
}

// Reading a mapped page beyond the new end of a file raises SIGBUS, which a library cannot turn
// into an error for its caller. The command line owns its process: it handles the signal and prints
// an error.
TEST(FileShrinks, WhileAnInputIsReadEndsTheCommandLineWithAnError) {
  if (!test::can_sweep()) GTEST_SKIP() << "a sanitizer handles SIGBUS itself";
  const Scene scene;
  test::write_file(scene.input(), std::string_view("\x93NUMPY\x01\x00", 8));
  std::filesystem::resize_file(scene.input(), 1 << 20);

  const Ending run = test::run_with(scene.run(), {test::Fault::shrinking_file, 0, scene.input()});

  expect_refused(scene, run);
  EXPECT_THAT(run.err, HasSubstr("was truncated while it was read"));
}

TEST(FileShrinks, WhileAnArtifactIsReadEndsTheCommandLineWithAnError) {
  if (!test::can_sweep()) GTEST_SKIP() << "a sanitizer handles SIGBUS itself";
  const Scene scene;
  const auto artifact = copied_artifact(scene);
  Job job = scene.run();
  job.words[2] = artifact.string();

  const Ending run = test::run_with(job, {test::Fault::shrinking_file, 0, artifact});

  expect_refused(scene, run);
  EXPECT_THAT(run.err, HasSubstr("was truncated while it was read"));
}

TEST(FileShrinks, WhileARecipeIsReadEndsTheCommandLineWithAnError) {
  if (!test::can_sweep()) GTEST_SKIP() << "a sanitizer handles SIGBUS itself";
  const Scene scene;

  const Ending run = test::run_with(
      scene.pack(), {test::Fault::shrinking_file, 0, scene.directory() / "demo/digits.yaml"});

  expect_refused(scene, run);
  EXPECT_THAT(run.err, HasSubstr("was truncated while it was read"));
}

// Known limit: a library does not install signal handlers, so the application receives SIGBUS.
TEST(FileShrinks, EndsAnApplicationBySignal) {
  if (!test::can_sweep()) GTEST_SKIP() << "a sanitizer handles SIGBUS itself";
  const Scene scene;
  const auto artifact = copied_artifact(scene);
  Job job = scene.embedding();
  job.words[2] = artifact.string();

  const Ending run = test::run_with(job, {test::Fault::shrinking_file, 0, artifact});

  EXPECT_EQ(run.status, 128 + SIGBUS) << run.err;
}

// Interrupts system calls every 0.5 ms: the handler is installed without SA_RESTART.
class Interrupted : public testing::Test {
 protected:
  Interrupted() {
    struct sigaction action {};
    action.sa_handler = [](int) {};
    sigaction(SIGALRM, &action, &before_);
    const itimerval often{{0, 500}, {0, 500}};
    setitimer(ITIMER_REAL, &often, nullptr);
  }
  ~Interrupted() override {
    const itimerval never{};
    setitimer(ITIMER_REAL, &never, nullptr);
    sigaction(SIGALRM, &before_, nullptr);
  }
  struct sigaction before_ {};
};

TEST_F(Interrupted, LoadingAndRunningSucceed) {
  for (int i = 0; i < 10; ++i) {
    auto runtime = Runtime::create(test::built_plugins_only());
    ASSERT_TRUE(runtime.ok()) << runtime.error().message;
    const auto model = runtime->load(test::golden("tvm-0.12/digits_mlp_llvm.so").string());
    ASSERT_TRUE(model.ok()) << model.error().message;
    auto executor = Executor::create(*runtime, *model, {"cpu"});
    ASSERT_TRUE(executor.ok()) << executor.error().message;
    const auto ran = executor->run();
    EXPECT_TRUE(ran.ok()) << ran.error().message;
  }
}

TEST_F(Interrupted, PackingSucceeds) {
  const test::TempDir directory;
  const auto recipe = read_recipe(std::filesystem::path(GANTRY_DEMO_DIR) / "digits.yaml");
  ASSERT_TRUE(recipe.ok()) << recipe.error().message;

  const Status packed = pack(*recipe, directory / "digits.so");

  EXPECT_TRUE(packed.ok()) << packed.error().message;
}

}  // namespace
}  // namespace gantry
