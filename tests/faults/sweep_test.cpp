// SPDX-License-Identifier: Apache-2.0
//
// Each allocation and each system call of load, run, pack and repack fails once. A test takes a sample, so
// that all tests end within a minute; tests/faults/run takes every one (GANTRY_FAULTS_STEP=1).
#include "tests/faults/sweep.hpp"

#include "tests/faults/scene.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <map>

namespace gantry {
namespace {

using test::Ending;
using test::Fault;
using test::Job;
using test::Scene;

unsigned long number_or(const char* variable, unsigned long otherwise) {
  const char* const given = std::getenv(variable);
  return given != nullptr ? std::strtoul(given, nullptr, 10) : otherwise;
}
unsigned long step_or(unsigned long sample) { return number_or("GANTRY_FAULTS_STEP", sample); }

// Steps are primes, so that they do not coincide with the period of a loop in the program.
struct Sweep {
  const char* name;
  Job (Scene::*job)() const;
  Fault::Kind kind;
  unsigned long step;
  // the job writes an output file
  bool writes = true;
  // the file is an archive, and so is the one that it replaces
  bool archive = false;
};

class EveryFault : public testing::TestWithParam<Sweep> {};

// Checks that a run fails with one error and changes nothing, or succeeds with a complete output.
testing::AssertionResult is_clean(const Scene& scene, const Ending& run, bool writes) {
  const auto no = [&](const char* what) {
    return testing::AssertionFailure() << what << (scene.is_untouched() ? " (untouched)" : "")
                                       << ", status " << run.status << "\n"
                                       << run.err << scene.listing();
  };
  const bool refused = run.status == 1 || test::ended_by_linker(run);
  if (run.status != 0 && !refused) return no("exit status is neither 0 nor 1");
  if (run.status == 1 && !test::is_one_error(run.err)) return no("stderr is not one error");
  if (run.status == 0 && writes && !scene.is_whole())
    return no("success without a complete output");
  if (refused && !scene.is_untouched() && !scene.is_whole())
    return no("the output is half-written");
  if (!scene.has_nothing_else()) return no("another file remains in the output's directory");
  return testing::AssertionSuccess();
}

TEST_P(EveryFault, IsAnErrorOrHasNoEffect) {
  if (!test::can_sweep())
    GTEST_SKIP() << "a sanitizer has its own malloc, and only x86-64 registers are supported";
  const Sweep& swept = GetParam();
  Scene scene;
  if (swept.archive) scene.replace_archive();
  const Job job = (scene.*swept.job)();
  ASSERT_EQ(test::run_with(job, {}).status, 0) << "without a fault";
  unsigned long refused = 0;
  std::map<std::string, unsigned long> tolerated;
  int failures = 0;

  const unsigned long runs = test::sweep(
      job, swept.kind, number_or("GANTRY_FAULTS_FIRST", 1), step_or(swept.step),
      [&](unsigned long nth, const Ending& run) {
        const auto clean = is_clean(scene, run, swept.writes);
        if (!clean && ++failures <= 40)
          ADD_FAILURE() << nth << " " << run.call << " " << run.path << ": " << clean.message();
        if (run.status == 0)
          ++tolerated[run.call + (run.path.empty() ? "" : " ") + test::generic(run.path)];
        refused += run.status != 0 ? 1 : 0;
        scene.reset();
      });

  EXPECT_EQ(failures, 0);
  EXPECT_GT(refused, 0u) << "no fault caused an error: the sweep injects none";
  std::printf("%s: %lu faults, %lu refused, %lu without effect, %d otherwise\n", swept.name, runs,
              refused, runs - refused - static_cast<unsigned long>(failures), failures);
  for (const auto& [what, times] : tolerated) std::printf("  %lu x %s\n", times, what.c_str());
}

INSTANTIATE_TEST_SUITE_P(
    Of, EveryFault,
    testing::Values(
        Sweep{"AllocationsOfRun", &Scene::run, Fault::allocation, 67},
        Sweep{"AllocationsOfRunWithJson", &Scene::run_json, Fault::allocation, 131},
        Sweep{"AllocationsOfPack", &Scene::pack, Fault::allocation, 67},
        Sweep{"AllocationsOfRepack", &Scene::repack, Fault::allocation, 67},
        Sweep{"AllocationsOfEmbedding", &Scene::embedding, Fault::allocation, 37, false},
        Sweep{"AllocationsOfMlfExport", &Scene::mlf_export, Fault::allocation, 67, true, true},
        Sweep{"MemoryOfRun", &Scene::run, Fault::memory, 131},
        Sweep{"MemoryOfPack", &Scene::pack, Fault::memory, 131},
        Sweep{"MemoryOfRepack", &Scene::repack, Fault::memory, 131},
        Sweep{"MemoryOfEmbedding", &Scene::embedding, Fault::memory, 67, false},
        Sweep{"AllocationsOfInspect", &Scene::inspect, Fault::allocation, 67, false},
        Sweep{"AllocationsOfList", &Scene::list, Fault::allocation, 67, false},
        Sweep{"SystemCallsOfRun", &Scene::run, Fault::system_call, 3},
        Sweep{"SystemCallsOfPack", &Scene::pack, Fault::system_call, 3},
        Sweep{"SystemCallsOfPackObject", &Scene::pack_object, Fault::system_call, 3},
        Sweep{"SystemCallsOfMlfExport", &Scene::mlf_export, Fault::system_call, 3, true, true},
        Sweep{"SystemCallsOfRepack", &Scene::repack, Fault::system_call, 3},
        Sweep{"SystemCallsOfEmbedding", &Scene::embedding, Fault::system_call, 3, false}),
    [](const auto& test) { return test.param.name; });

// In one process: blocks, descriptors and threads are counted before and after each fault, and the
// next turn must succeed.
TEST(EveryAllocation, LeaksNothingAndTheNextRunSucceeds) {
  if (!test::can_sweep()) GTEST_SKIP() << "a sanitizer has its own malloc";
  Scene scene;
  const Job job = scene.embedding_again_and_again(step_or(23));

  const Ending run = test::run_with(job, {});

  EXPECT_EQ(run.status, 0) << run.err.substr(run.err.size() > 600 ? run.err.size() - 600 : 0);
  std::printf("AllocationsInOneProcess: %s", run.out.c_str());
}

}  // namespace
}  // namespace gantry
