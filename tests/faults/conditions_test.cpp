// SPDX-License-Identifier: Apache-2.0
//
// What a machine does to a program: no space, files that go or shrink, signals, limits. Each ends in an error of one
// sentence and status 1, or does not matter; nothing is left behind.
#include "tests/faults/scene.hpp"

#include "core/pack/pack.hpp"
#include "core/runtime/runtime.hpp"

#include <gmock/gmock.h>

#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <functional>

namespace gantry {
namespace {

using test::Ending;
using test::Job;
using test::Scene;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;

void limit(int resource, rlim_t most) {
  const rlimit both{most, most};
  if (setrlimit(static_cast<__rlimit_resource>(resource), &both) != 0) _exit(125);
}

Job with(Job job, std::function<void()> prepare) {
  job.prepare = std::move(prepare);
  return job;
}

void expect_refused(const Scene& scene, const Ending& run) {
  EXPECT_EQ(run.status, 1) << run.err;
  EXPECT_TRUE(test::tells_one_error(run.err)) << run.err;
  EXPECT_TRUE(scene.is_untouched()) << scene.listing();
  EXPECT_TRUE(scene.has_nothing_else()) << scene.listing();
}

// A file may not grow past 100 bytes: the system's own way to a write that fails, which needs no rights.
TEST(DiskFull, StopsRunWithoutAHalfWrittenOutput) {
  const Scene scene;

  const Ending run = test::run_with(with(scene.run(),
                                         [] {
                                           signal(SIGXFSZ, SIG_IGN);
                                           limit(RLIMIT_FSIZE, 100);
                                         }),
                                    {});

  expect_refused(scene, run);
  EXPECT_THAT(run.err, HasSubstr("cannot be written"));
}

TEST(DiskFull, StopsPackWithoutAHalfWrittenOutput) {
  const Scene scene;

  const Ending run = test::run_with(with(scene.pack(),
                                         [] {
                                           signal(SIGXFSZ, SIG_IGN);
                                           limit(RLIMIT_FSIZE, 100);
                                         }),
                                    {});

  expect_refused(scene, run);
}

TEST(DiskFull, IsToldOfStandardOutput) {
  const Scene scene;
  Job job = scene.run();
  job.words.resize(job.words.size() - 2);  // without --output
  job.out = "/dev/full";

  const Ending run = test::run_with(job, {});

  expect_refused(scene, run);
  EXPECT_THAT(run.err, HasSubstr("cannot write to stdout"));
}

TEST(DescriptorLimit, Of32IsEnoughForRunAndPack) {
  Scene scene;
  for (const Job& job : {scene.run(), scene.pack_for_real()}) {
    const Ending run = test::run_with(with(job, [] { limit(RLIMIT_NOFILE, 32); }), {});

    EXPECT_EQ(run.status, 0) << run.err;
    EXPECT_TRUE(scene.is_whole());
    scene.reset();
  }
}

// From three up: the program's own start takes some, and what is refused with n works with more.
TEST(DescriptorLimit, IsAnErrorWhereItIsTooLow) {
  Scene scene;
  for (const auto& job : {scene.run(), scene.pack()}) {
    int refused = 0;
    for (rlim_t most = 5; most < 20; ++most) {
      SCOPED_TRACE(concat(job.words[1], " with ", most, " descriptors"));
      const Ending run = test::run_with(with(job, [most] { limit(RLIMIT_NOFILE, most); }), {});

      if (run.status == 0) {
        EXPECT_TRUE(scene.is_whole());
      } else {
        ++refused;
        expect_refused(scene, run);
      }
      scene.reset();
    }
    EXPECT_GT(refused, 0);
  }
}

// From the least in which the program comes to its first line, in steps, up to enough.
TEST(AddressSpaceLimit, IsAnErrorWhereItIsTooLow) {
  if (!test::can_sweep()) GTEST_SKIP() << "a sanitizer reserves terabytes of address space";
  constexpr rlim_t mebibyte = 1 << 20;
  Scene scene;
  Job version = scene.run();
  version.words = {version.words[0], "version"};
  rlim_t least = 8;
  while (
      test::run_with(with(version, [least] { limit(RLIMIT_AS, least * mebibyte); }), {}).status !=
      0)
    ++least;
  for (const auto& job : {scene.run(), scene.pack()}) {
    int refused = 0;
    for (rlim_t most = least;; ++most) {
      SCOPED_TRACE(concat(job.words[1], " in ", most, " MiB"));
      ASSERT_LT(most, 4096u);
      const Ending run =
          test::run_with(with(job, [most] { limit(RLIMIT_AS, most * mebibyte); }), {});

      const bool done = run.status == 0;
      if (done) {
        EXPECT_TRUE(scene.is_whole());
      } else {
        ++refused;
        expect_refused(scene, run);
      }
      scene.reset();
      if (done) break;
    }
    if (job.words[1] == "run") {
      EXPECT_GT(refused, 0);
    }  // packing fits into what the program itself takes
    std::printf("gantry %s: refused below %d MiB more than gantry version needs (%d MiB)\n",
                job.words[1].c_str(), refused, static_cast<int>(least));
  }
}

// A plugin that does something to the artifact while it is created: after the file was read, before it is opened.
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
      .abi = {GANTRY_ABI_MAJOR, 0, GANTRY_ABI_MINOR, 0},
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

TEST(FileVanishes, BetweenReadingAndOpeningIsToldWithItsName) {
  const test::TempDir folder;
  const auto path = folder / "model.so";
  std::filesystem::copy_file(test::golden("tvm-0.12/digits_mlp_llvm.so"), path);
  while_created() = [&] { std::filesystem::remove(path); };
  auto runtime = Runtime::create({.only_these_plugins = true});
  ASSERT_TRUE(runtime->add_plugin(meddling_plugin).ok());

  const auto module = runtime->load(path.string());

  ASSERT_FALSE(module.ok());
  EXPECT_THAT(module.error().code, AnyOf(Code::unavailable, Code::not_found))
      << module.error().message;
  EXPECT_THAT(module.error().message, HasSubstr(path.string()));
}

TEST(FileVanishes, BeforeItIsReadIsToldWithItsName) {
  const Scene scene;
  std::filesystem::remove(scene.input());

  const Ending run = test::run_with(scene.run(), {});

  expect_refused(scene, run);
  EXPECT_THAT(run.err, AllOf(HasSubstr("x.npy"), HasSubstr("does not exist")));
}

// Pages of a mapped file go with its end: the kernel answers a read with SIGBUS, which no code of a library can turn
// into an error for its caller. The command line owns its process and ends with a sentence.
TEST(FileShrinks, WhileItIsReadEndsTheCommandLineWithASentence) {
  if (!test::can_sweep()) GTEST_SKIP() << "a sanitizer takes SIGBUS for itself";
  const Scene scene;
  test::write_file(scene.input(), std::string_view("\x93NUMPY\x01\x00", 8));
  std::filesystem::resize_file(scene.input(), 1 << 20);

  const Ending run = test::run_with(scene.run(), {test::Fault::shrinking_file, 0, scene.input()});

  expect_refused(scene, run);
  EXPECT_THAT(run.err, HasSubstr("became shorter while it was read"));
}

// A handler without SA_RESTART, so that every call that can be interrupted is, every half millisecond.
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

TEST_F(Interrupted, LoadingAndRunningGoOn) {
  for (int i = 0; i < 10; ++i) {
    auto runtime =
        Runtime::create({.plugin_dirs = {(test::build_tree() / "share/gantry/plugins.d").string()},
                         .only_these_plugins = true});
    ASSERT_TRUE(runtime.ok()) << runtime.error().message;
    const auto model = runtime->load(test::golden("tvm-0.12/digits_mlp_llvm.so").string());
    ASSERT_TRUE(model.ok()) << model.error().message;
    auto executor = runtime->executor(*model, {"cpu"});
    ASSERT_TRUE(executor.ok()) << executor.error().message;
    const auto ran = executor->run();
    EXPECT_TRUE(ran.ok()) << ran.error().message;
  }
}

TEST_F(Interrupted, PackingGoesOn) {
  const test::TempDir folder;
  const auto recipe = read_recipe(std::filesystem::path(GANTRY_DEMO_DIR) / "digits.yaml");
  ASSERT_TRUE(recipe.ok()) << recipe.error().message;

  const Status packed = pack(*recipe, folder / "digits.so");

  EXPECT_TRUE(packed.ok()) << packed.error().message;
}

}  // namespace
}  // namespace gantry
