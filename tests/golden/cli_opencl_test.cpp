// SPDX-License-Identifier: Apache-2.0
//
// What TVM exported for OpenCL, run as a user runs it, on the driver that this machine has.
#include "tests/golden/cli_command.hpp"
#include "tests/support/files.hpp"

#include "core/tensor/npy.hpp"

#include <gmock/gmock.h>

#include <filesystem>

namespace gantry::test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Args = std::vector<std::string>;

class RunOpencl : public ::testing::Test {
 protected:
  void SetUp() override {
    const Outcome devices = gantry({"devices"});
    if (devices.out.find("opencl:0") == std::string::npos)
      GTEST_SKIP() << "no OpenCL device: " << devices.out << devices.err;
  }
  // The driver's own cache lies in the build tree; ours is another folder for each run.
  Outcome gantry(Args args) {
    const std::string plugins = built_plugins();
    write_file(temp_ / "runtime.yaml", "cache: " + (temp_ / "cache").string() +
                                           "\nplugins: {dirs: [" + plugins + "/graph, " + plugins +
                                           "/opencl]}\n");
    args.insert(args.begin(), {"--config", (temp_ / "runtime.yaml").string()});
    return run_gantry(args, {"POCL_CACHE_DIR=" + (build_tree() / "pocl_cache").string(),
                             // PoCL keeps its compiler for the life of the process.
                             "LSAN_OPTIONS=detect_leaks=0"});
  }
  std::string floats(std::string_view name, const std::vector<float>& values) {
    const std::span data(reinterpret_cast<const std::uint8_t*>(values.data()), 4 * values.size());
    const std::array<std::int64_t, 1> shape{static_cast<std::int64_t>(values.size())};
    write_file(temp_ / name, npy_bytes({2, 32, 1}, shape, data).value());
    return (temp_ / name).string();
  }

  const TempDir temp_;
};

class RunOpenclModel : public RunOpencl,
                       public ::testing::WithParamInterface<std::pair<const char*, const char*>> {};

TEST_P(RunOpenclModel, GivesWhatTvmGave) {
  const auto [name, member] = GetParam();
  const std::string base = concat("tvm-0.12/", name);
  const Args run{"run",
                 base + "_opencl.so",
                 "--device",
                 "opencl:0",
                 "--input",
                 concat(member, "=", base, ".input.npz"),
                 "--each",
                 "--expect",
                 base + "_opencl.expected.npz",
                 "--rtol",
                 "1e-4"};

  const Outcome first = gantry(run);
  const Outcome second = gantry(run);  // with the programs that the first one left

  for (const Outcome& outcome : {first, second}) {
    EXPECT_EQ(outcome.status, 0);
    EXPECT_THAT(outcome.err, IsEmpty());
    EXPECT_THAT(outcome.out, HasSubstr(base + "_opencl.expected.npz\n"));
  }
  EXPECT_FALSE(std::filesystem::is_empty(temp_ / "cache/opencl"));
}

INSTANTIATE_TEST_SUITE_P(Golden, RunOpenclModel,
                         ::testing::Values(std::pair("digits_mlp", "x"),
                                           std::pair("resnet20", "data")),
                         [](const auto& test) { return std::string(test.param.first); });

TEST_F(RunOpencl, CallsAFunctionByItsName) {
  std::vector<float> a, b;
  for (int i = 0; i < 1000; ++i) {
    a.push_back(0.5F * static_cast<float>(i));
    b.push_back(static_cast<float>(i));
  }

  const Outcome run = gantry({"run", "tvm-0.12/axpy2_opencl.so", "--device", "opencl:0",
                              "--function", "axpy2", "--arg", floats("a.npy", a), "--arg",
                              floats("b.npy", b), "--arg", "zeros:float32[1000]"});

  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("arg2  float32[1000]  0 2.5 5 7.5 10 12.5 15 17.5 ..."));
}

}  // namespace
}  // namespace gantry::test
