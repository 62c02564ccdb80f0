// SPDX-License-Identifier: Apache-2.0
//
// What TVM exported for Vulkan, run as a user runs it, on the driver that this machine has.
#include "tests/golden/cli_command.hpp"
#include "tests/support/files.hpp"

#include "core/tensor/npy.hpp"

#include <gmock/gmock.h>

#include <array>
#include <filesystem>

namespace gantry::test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Args = std::vector<std::string>;

class RunVulkan : public ::testing::Test {
 protected:
  void SetUp() override {
    const Outcome devices = gantry({"devices"});
    if (devices.out.find("vulkan:0") == std::string::npos)
      GTEST_SKIP() << "no Vulkan device: " << devices.out << devices.err;
  }
  Outcome gantry(Args args, std::vector<std::string> environment = {}) {
    const std::string plugins = built_plugins();
    write_file(temp_ / "runtime.yaml", "cache: " + (temp_ / "cache").string() +
                                           "\nplugins: {dirs: [" + plugins + "/graph, " + plugins +
                                           "/vulkan]}\n");
    args.insert(args.begin(), {"--config", (temp_ / "runtime.yaml").string()});
    // Mesa keeps its compiler for the life of the process.
    environment.push_back("LSAN_OPTIONS=detect_leaks=0");
    return run_gantry(args, environment);
  }
  std::string floats(std::string_view name, const std::vector<float>& values) {
    const std::span data(reinterpret_cast<const std::uint8_t*>(values.data()), 4 * values.size());
    const std::array<std::int64_t, 1> shape{static_cast<std::int64_t>(values.size())};
    write_file(temp_ / name, npy_bytes({2, 32, 1}, shape, data).value());
    return (temp_ / name).string();
  }

  const TempDir temp_;
};

class RunVulkanModel : public RunVulkan,
                       public ::testing::WithParamInterface<std::pair<const char*, const char*>> {};

TEST_P(RunVulkanModel, GivesWhatTvmGave) {
  const auto [name, member] = GetParam();
  const std::string base = concat("tvm-0.12/", name);

  const Outcome run = gantry({"run", base + "_vulkan.so", "--device", "vulkan:0", "--input",
                              concat(member, "=", base, ".input.npz"), "--each", "--expect",
                              base + "_vulkan.expected.npz", "--rtol", "1e-4"});

  EXPECT_EQ(run.status, 0);
  EXPECT_THAT(run.err, IsEmpty());
  EXPECT_THAT(run.out, HasSubstr(base + "_vulkan.expected.npz\n"));
  EXPECT_FALSE(std::filesystem::is_empty(temp_ / "cache/vulkan"));
}

INSTANTIATE_TEST_SUITE_P(Golden, RunVulkanModel,
                         ::testing::Values(std::pair("digits_mlp", "x"),
                                           std::pair("resnet20", "data")),
                         [](const auto& test) { return std::string(test.param.first); });

TEST_F(RunVulkan, CallsAFunctionByItsName) {
  std::vector<float> a, b;
  for (int i = 0; i < 1000; ++i) {
    a.push_back(0.5F * static_cast<float>(i));
    b.push_back(static_cast<float>(i));
  }

  const Outcome run = gantry({"run", "tvm-0.12/axpy2_vulkan.so", "--device", "vulkan:0",
                              "--function", "axpy2", "--arg", floats("a.npy", a), "--arg",
                              floats("b.npy", b), "--arg", "zeros:float32[1000]"});

  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("arg2  float32[1000]  0 2.5 5 7.5 10 12.5 15 17.5 ..."));
}

// On a machine whose drivers cannot be found, the text says what was looked for and where.
TEST_F(RunVulkan, WithoutADriverSaysWhereItLooked) {
  const Outcome devices = gantry({"devices"}, {"VK_ICD_FILENAMES=/nowhere/driver.json",
                                               "VK_DRIVER_FILES=/nowhere/driver.json"});

  EXPECT_THAT(devices.out, Not(HasSubstr("vulkan:0")));
  EXPECT_THAT(devices.out + devices.err,
              HasSubstr("no Vulkan driver starts; the loader looks for the manifests of drivers in "
                        "/etc/vulkan/icd.d ("));
}

TEST_F(RunVulkan, WithTheValidationLayerHearsNothing) {
  const Outcome run = gantry({"run", "tvm-0.12/digits_mlp_vulkan.so", "--device", "vulkan:0",
                              "--input", "x=tvm-0.12/digits_mlp.input.npz", "--each", "--expect",
                              "tvm-0.12/digits_mlp_vulkan.expected.npz", "--rtol", "1e-4"},
                             {"GANTRY_CONFIG_GANTRY_VULKAN__VALIDATION=true"});

  if (run.err.find("which is not installed") != std::string::npos) GTEST_SKIP() << run.err;
  EXPECT_EQ(run.status, 0);
  EXPECT_THAT(run.err, IsEmpty());
}

}  // namespace
}  // namespace gantry::test
