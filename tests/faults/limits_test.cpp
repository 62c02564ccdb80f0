// SPDX-License-Identifier: Apache-2.0
//
// Low limits of disk space, descriptors and address space. Each run succeeds, or fails with one
// error and status 1; no temporary file remains.
#include "tests/faults/outcome.hpp"

#include <gantry/result.hpp>

#include <gmock/gmock.h>

#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

namespace gantry {
namespace {

using test::Ending;
using test::expect_refused;
using test::Job;
using test::Scene;
using ::testing::HasSubstr;

void limit(int resource, rlim_t max) {
  const rlimit both{max, max};
  if (setrlimit(static_cast<__rlimit_resource>(resource), &both) != 0) _exit(125);
}

Job with(Job job, std::function<void()> prepare) {
  job.prepare = std::move(prepare);
  return job;
}

// Files are limited to 100 bytes (RLIMIT_FSIZE): a write fails without a full disk or privileges.
TEST(DiskFull, StopsRunWithoutAHalfWrittenOutput) {
  const Scene scene;

  const Ending run = test::run_with(with(scene.run(),
                                         [] {
                                           signal(SIGXFSZ, SIG_IGN);
                                           limit(RLIMIT_FSIZE, 100);
                                         }),
                                    {});

  expect_refused(scene, run);
  EXPECT_THAT(run.err, HasSubstr("File too large"));
}

// The limits stop pack in the compiler, or while it writes the library, the container behind it, or
// the object file; repack, while it writes the library or the container.
TEST(DiskFull, StopsPackAndRepackWithoutAHalfWrittenOutput) {
  Scene scene;
  for (const Job& job : {scene.pack(), scene.pack_object(), scene.repack()}) {
    int refused = 0;
    for (rlim_t max = 64;; max *= 2) {
      SCOPED_TRACE(concat("files of up to ", max, " bytes"));
      ASSERT_LT(max, 1u << 30);
      const Ending run = test::run_with(with(job,
                                             [max] {
                                               signal(SIGXFSZ, SIG_IGN);
                                               limit(RLIMIT_FSIZE, max);
                                             }),
                                        {});

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
    EXPECT_GT(refused, 3);
  }
}

// The signal arrives while the container is written, since the library is smaller than the limit.
TEST(DiskFull, EndsPackAndRepackBySignalWithoutAHalfWrittenOutput) {
  const Scene scene;
  for (const Job& job : {scene.pack(), scene.pack_object(), scene.repack()}) {
    const Ending run = test::run_with(with(job, [] { limit(RLIMIT_FSIZE, 40'000); }), {});

    EXPECT_EQ(run.status, 128 + SIGXFSZ) << run.err;
    EXPECT_TRUE(scene.is_untouched());
    EXPECT_TRUE(scene.has_nothing_else()) << scene.listing();
  }
}

// The archive has 115 KB: the limits stop it in its first member, the library and the parameters.
TEST(DiskFull, StopsMlfExportWithoutAHalfWrittenOutput) {
  Scene scene;
  scene.replace_archive();
  for (const rlim_t max : {100, 20'000, 100'000}) {
    SCOPED_TRACE(concat("files of up to ", max, " bytes"));
    const Ending run = test::run_with(with(scene.mlf_export(),
                                           [max] {
                                             signal(SIGXFSZ, SIG_IGN);
                                             limit(RLIMIT_FSIZE, max);
                                           }),
                                      {});

    expect_refused(scene, run);
    EXPECT_THAT(run.err, HasSubstr("File too large"));

    const Ending signalled =
        test::run_with(with(scene.mlf_export(), [max] { limit(RLIMIT_FSIZE, max); }), {});

    EXPECT_EQ(signalled.status, 128 + SIGXFSZ) << signalled.err;
    EXPECT_TRUE(scene.is_untouched());
    EXPECT_TRUE(scene.has_nothing_else()) << scene.listing();
  }
}

TEST(DiskFull, IsReportedForStandardOutput) {
  const Scene scene;
  Job job = scene.run();
  // without --output
  job.words.resize(job.words.size() - 2);
  job.out = "/dev/full";

  const Ending run = test::run_with(job, {});

  expect_refused(scene, run);
  EXPECT_THAT(run.err, HasSubstr("cannot write to stdout"));
}

// True if a successful job wrote its output. The embedding application writes no file.
bool has_done_its_work(const Scene& scene, const Job& job) {
  return job.words[1] == "once" ? scene.is_untouched() : scene.is_whole();
}

TEST(DescriptorLimit, Of32IsEnoughForLoadRunAndPack) {
  Scene scene;
  for (const Job& job : {scene.embedding(), scene.run(), scene.pack_for_real()}) {
    const Ending run = test::run_with(with(job, [] { limit(RLIMIT_NOFILE, 32); }), {});

    EXPECT_EQ(run.status, 0) << run.err;
    EXPECT_TRUE(has_done_its_work(scene, job));
    scene.reset();
  }
}

// Starts at three descriptors: the start of the program requires some.
TEST(DescriptorLimit, IsAnErrorIfItIsTooLow) {
  Scene scene;
  for (const auto& job : {scene.embedding(), scene.run(), scene.pack()}) {
    int refused = 0;
    for (rlim_t max = 5; max < 20; ++max) {
      SCOPED_TRACE(concat(job.words[1], " with ", max, " descriptors"));
      const Ending run = test::run_with(with(job, [max] { limit(RLIMIT_NOFILE, max); }), {});

      if (run.status == 0) {
        EXPECT_TRUE(has_done_its_work(scene, job));
      } else {
        ++refused;
        expect_refused(scene, run);
      }
      scene.reset();
    }
    EXPECT_GT(refused, 0);
  }
}

constexpr rlim_t address_space_step = 128 << 10;

Ending run_in(const Job& job, rlim_t max) {
  return test::run_with(with(job, [max] { limit(RLIMIT_AS, max); }), {});
}

// An address space in which the job's program reaches main() and can throw. With `arguments` it does
// nothing and exits with status `idle`.
rlim_t min_for_start(Job job, std::vector<std::string> arguments, int idle) {
  job.words.resize(1);
  job.words.insert(job.words.end(), arguments.begin(), arguments.end());
  rlim_t min = 4 << 20;
  while (run_in(job, min).status != idle && min < 1u << 30) min += address_space_step;
  // libstdc++ reserves 72 KiB when it starts, for exceptions that report a failed allocation.
  return min + address_space_step;
}

// Increases the limit in steps until the job succeeds.
TEST(AddressSpaceLimit, IsAnErrorIfItIsTooLow) {
  if (!test::can_sweep()) GTEST_SKIP() << "a sanitizer reserves terabytes of address space";
  Scene scene;
  for (const auto& job : {scene.embedding(), scene.run(), scene.pack()}) {
    const std::string& name = job.words[1];
    const rlim_t min =
        name == "once" ? min_for_start(job, {}, 2) : min_for_start(job, {"version"}, 0);
    int refused = 0;
    for (rlim_t max = min;; max += address_space_step) {
      SCOPED_TRACE(concat(name, " in ", max >> 10, " KiB"));
      ASSERT_LT(max, 1u << 30);
      const Ending run = run_in(job, max);

      const bool done = run.status == 0;
      if (done) {
        EXPECT_TRUE(has_done_its_work(scene, job));
      } else {
        ++refused;
        expect_refused(scene, run);
      }
      scene.reset();
      if (done) break;
    }
    if (name != "pack") {
      EXPECT_GT(refused, 0);
      // pack fits into the address space that the program requires to start
    }
    std::printf(
        "%s: refused in %d steps of 128 KiB, starting at the %d KiB that the program requires\n",
        name.c_str(), refused, static_cast<int>(min >> 10));
  }
}

}  // namespace
}  // namespace gantry
