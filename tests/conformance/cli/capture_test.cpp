// SPDX-License-Identifier: Apache-2.0
//
// --capture on a device that records runs, and on one that does not.
#include "tests/golden/cli_command.hpp"
#include "tests/support/files.hpp"

#include "core/formats/arrays/npy.hpp"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <array>

namespace gantry::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Args = std::vector<std::string>;

class RunCaptured : public ::testing::Test {
 protected:
  const std::string directory = (build_tree() / "tests/conformance").string();
  // z = max(x + 2 w, 0)
  const std::string model = directory + "/abacus.so";

  Outcome gantry(Args args) {
    args.insert(args.begin(), {"--plugins", directory + "/plugins.d/abacus", "--plugins",
                               built_plugins("graph")});
    return run_gantry(args);
  }
  // float32[runs, 100]; each element of row i is first + i.
  std::string rows(std::string_view name, int runs, float first) {
    std::vector<float> values;
    for (int i = 0; i < 100 * runs; ++i) values.push_back(first + static_cast<float>(i / 100));
    const std::array<std::int64_t, 2> shape{runs, 100};
    const std::span data(reinterpret_cast<const std::uint8_t*>(values.data()), 4 * values.size());
    write_file(temp / name, npy_bytes({2, 32, 1}, shape, data).value());
    return (temp / name).string();
  }
  // Number of operator calls of the executor.
  int operators(const std::filesystem::path& trace) {
    const auto bytes = read_file(trace);
    const std::string text(bytes.begin(), bytes.end());
    int count = 0;
    for (std::size_t at = text.find("\"op\""); at != std::string::npos;
         at = text.find("\"op\"", at + 1))
      ++count;
    return count;
  }
  const TempDir temp;
};

// The first run is plain, the second is recorded, and replays call no operator.
TEST_F(RunCaptured, ReturnsTheSameResultsAndCallsItsOperatorsTwice) {
  const Args run{"run",
                 model,
                 "--device",
                 "abacus:1",
                 "--each",
                 "--input",
                 "x=" + rows("x.npy", 6, 1),
                 "--input",
                 "w=" + rows("w.npy", 6, 10)};
  const auto with = [&](Args more) {
    Args all = run;
    all.insert(all.end(), more.begin(), more.end());
    return gantry(all);
  };

  const Outcome plain =
      with({"--output", (temp / "plain.npz").string(), "--trace", (temp / "plain.json").string()});
  const Outcome captured = with({"--capture", "--expect", (temp / "plain.npz").string(), "--trace",
                                 (temp / "captured.json").string()});

  ASSERT_EQ(plain.status, 0) << plain.err;
  EXPECT_THAT(plain.out, HasSubstr("z  float32[6, 100]  21 21"));
  EXPECT_EQ(captured.status, 0) << captured.err;
  EXPECT_THAT(captured.out, HasSubstr("equal to "));
  EXPECT_EQ(operators(temp / "plain.json"), 12);
  EXPECT_EQ(operators(temp / "captured.json"), 4);
}

TEST_F(RunCaptured, IsReportedInTheDocument) {
  const Outcome run =
      gantry({"run", model, "--device", "abacus", "--capture", "--json", "--each", "--input",
              "x=" + rows("x.npy", 3, 1), "--input", "w=" + rows("w.npy", 3, 1)});
  const Outcome bench =
      gantry({"bench", model, "--device", "abacus", "--capture", "--repeat", "20", "--json"});

  for (const Outcome& outcome : {run, bench}) {
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("\"capture\": true"));
  }
}

TEST_F(RunCaptured, IsTimedOnTheDevice) {
  const Args bench{"bench", model, "--device", "abacus", "--device", "cpu", "--repeat", "20"};
  Args json = bench;
  json.push_back("--json");

  EXPECT_THAT(gantry(bench).out,
              AllOf(HasSubstr("  device time     median "), HasSubstr(" on abacus:0\n")));
  const auto times = nlohmann::json::parse(gantry(json).out)["times"]["device_median_ns"];
  EXPECT_EQ(times.size(), 2u);
  EXPECT_GT(times["abacus:0"].get<double>(), 0);
}

TEST_F(RunCaptured, IsRefusedByADeviceThatCannotRecord) {
  const Args digits{"--device", "cpu", "--capture", "--input", "x=tvm-0.12/digits_mlp.input.npz"};
  Args run{"run", "tvm-0.12/digits_mlp_llvm.so", "--each"};
  run.insert(run.end(), digits.begin(), digits.end());
  for (const Args& args : {run, Args{"bench", "tvm-0.12/digits_mlp_llvm.so", "--capture"}}) {
    const Outcome refused = gantry(args);

    EXPECT_EQ(refused.status, 1);
    EXPECT_THAT(
        refused.err,
        AllOf(HasSubstr("gantry: cpu: capture is not supported\n"),
              HasSubstr("required by --capture; without it the model runs on this device\n")));
  }
}

TEST_F(RunCaptured, IsRefusedForFunctions) {
  const Outcome refused = gantry({"run", model, "--function", "axpy2", "--capture"});

  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.err, HasSubstr("--capture"));
}

}  // namespace
}  // namespace gantry::test
