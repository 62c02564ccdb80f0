// SPDX-License-Identifier: Apache-2.0
//
// Loads Relax executables and plays their call scripts while allocations fail, one in each run.
#include "tests/faults/fail_nth.h"
#include "tests/support/built_runtime.hpp"
#include "tests/support/files.hpp"
#include "tools/gantry/script/script_player.hpp"

#include <gmock/gmock.h>

#include <exception>
#include <new>
#include <string>
#include <vector>

namespace gantry::cli {
namespace {

using ::testing::IsEmpty;

constexpr Tolerance tolerance{1e-5, 1e-6};

struct Sweep {
  std::string script;
  // Every step-th allocation fails.
  unsigned long step;
  friend void PrintTo(const Sweep& sweep, std::ostream* out) { *out << sweep.script; }
};

class RelaxWithoutMemory : public ::testing::TestWithParam<Sweep> {
 protected:
  // Loads the artifact and makes all calls; returns the differences from the recorded results.
  Result<std::vector<std::string>> play() {
    std::vector<std::string> lines;
    GANTRY_TRY(const Module model, runtime_.load(artifact_));
    const std::vector<std::string> devices = {"cpu"};
    GANTRY_TRY(ScriptPlayer player, ScriptPlayer::create(runtime_, model, script_, devices));
    for (std::size_t i = 0; i < script_.calls.size(); ++i) {
      GANTRY_TRY(const PlayedCall* const played, player.play(i, tolerance));
      lines.insert(lines.end(), played->differences.begin(), played->differences.end());
    }
    return lines;
  }

  // Plays while an allocation fails. The player may throw std::bad_alloc, the runtime must not.
  //
  // returns  true if all results are those that were recorded
  bool plays_without(unsigned long nth) {
    bool done = false;
    fail_nth_arm(nth);
    try {
      const auto found = play();
      done = found.ok() && found->empty();
    } catch (const std::bad_alloc&) {
    }
    fail_nth_disarm();
    return done;
  }

  void play_again() {
    const auto found = play();
    ASSERT_TRUE(found.ok()) << found.error().message;
    ASSERT_THAT(*found, IsEmpty());
  }

 private:
  CallScript script_ =
      read_call_script(test::golden("relax/" + GetParam().script + ".json")).value();
  const std::string artifact_ = test::golden("relax/" + script_.file).string();
  Runtime runtime_ = [] {
    RuntimeOptions options = test::built_plugins_only();
    options.threads = 1;
    return test::new_runtime(options);
  }();
};

TEST_P(RelaxWithoutMemory, FailsAndPlaysAgain) {
  play_again();
  unsigned long refused = 0;
  for (unsigned long nth = 1;; nth += GetParam().step) {
    SCOPED_TRACE(nth);
    const bool done = plays_without(nth);
    if (fail_nth_fired() == 0) {
      EXPECT_TRUE(done);
      break;
    }
    refused += !done;
    // The first failure of an allocation may fill caches.
    play_again();
    const long before = fail_nth_live();
    plays_without(nth);
    play_again();
    ASSERT_EQ(fail_nth_live(), before) << "blocks";
  }
  EXPECT_GT(refused, 20u);
}

INSTANTIATE_TEST_SUITE_P(Scripts, RelaxWithoutMemory,
                         ::testing::Values(Sweep{"prims_llvm", 1}, Sweep{"shapes_llvm", 1},
                                           Sweep{"tuples_llvm", 1}, Sweep{"kv_legacy_llvm", 1},
                                           Sweep{"control_flow_llvm", 5}, Sweep{"cnn_dyn_llvm", 1},
                                           Sweep{"closure_llvm", 1}, Sweep{"lm_paged_llvm", 29}),
                         [](const auto& test) { return test.param.script; });

}  // namespace
}  // namespace gantry::cli
