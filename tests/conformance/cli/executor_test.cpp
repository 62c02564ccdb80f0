// SPDX-License-Identifier: Apache-2.0
//
// A vendor's executor from the command line: sdk/example_executor.
#include "tests/golden/cli_command.hpp"
#include "tests/support/files.hpp"

#include "core/formats/arrays/npy.hpp"

#include <gmock/gmock.h>

#include <array>

namespace gantry::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Args = std::vector<std::string>;

class RunEnsemble : public ::testing::Test {
 protected:
  const std::string directory = (build_tree() / "tests/conformance").string();
  // out = (2 x + x * x) / 2
  const std::string model = directory + "/ensemble.so";

  Outcome gantry(Args args, std::string_view plugin = "ensemble") {
    args.insert(args.begin(), {"--plugins", concat(directory, "/plugins.d/", plugin), "--plugins",
                               built_plugins("graph")});
    return run_gantry(args);
  }
  std::string array(std::string_view name, const std::array<float, 4>& values) {
    constexpr std::array<std::int64_t, 1> shape{4};
    const std::span data(reinterpret_cast<const std::uint8_t*>(values.data()), sizeof values);
    write_file(temp / name, npy_bytes({2, 32, 1}, shape, data).value());
    return (temp / name).string();
  }
  const TempDir temp;
};

TEST_F(RunEnsemble, TakesAnInputByItsName) {
  const std::string x = "x=" + array("x.npy", {1, 2, 3, 4});
  for (const Args& more : {Args{}, Args{"--function", "predict"}}) {
    Args args{"run", model, "--input", x};
    args.insert(args.end(), more.begin(), more.end());

    const Outcome run = gantry(args);

    EXPECT_EQ(run.status, 0) << run.err;
    EXPECT_THAT(run.out, HasSubstr("out  float32[4]  1.5 4 7.5 12"));
  }
}

TEST_F(RunEnsemble, RefusesOtherInputsByTheSignature) {
  const Outcome run = gantry({"run", model, "--input", "z=" + array("x.npy", {1, 2, 3, 4})});

  EXPECT_NE(run.status, 0);
  EXPECT_THAT(run.err, AllOf(HasSubstr("\"z\""), HasSubstr("x float32[4]")));
}

TEST_F(RunEnsemble, IsMeasured) {
  const Outcome bench = gantry({"bench", model, "--repeat", "5"});

  EXPECT_EQ(bench.status, 0) << bench.err;
}

TEST_F(RunEnsemble, RequiresItsPlugin) {
  const Outcome run =
      gantry({"run", model, "--input", "x=" + array("x.npy", {1, 2, 3, 4})}, "abacus");

  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.err, HasSubstr("example.ensemble"));
}

}  // namespace
}  // namespace gantry::test
