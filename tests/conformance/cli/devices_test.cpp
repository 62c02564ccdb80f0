// SPDX-License-Identifier: Apache-2.0
//
// Devices on the command line: listed, selected by --device, and missing.
#include "tests/conformance/ext_dev_models.hpp"
#include "tests/golden/cli_command.hpp"
#include "tests/support/files.hpp"
#include "tests/support/npz_file.hpp"

#include <gantry/dtype_text.hpp>

#include "core/formats/arrays/npy.hpp"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>

namespace gantry::test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Args = std::vector<std::string>;

std::string here(std::string_view name) {
  return (build_tree() / "tests/conformance" / name).string();
}

Outcome gantry(Args args, const std::vector<std::string>& environment = {}) {
  args.insert(args.begin(),
              {"--plugins", here("plugins.d/abacus"), "--plugins", built_plugins("graph")});
  return run_gantry(args, environment);
}

const Args zeros = {"--arg", "zeros:float32[100]", "--arg", "zeros:float32[100]",
                    "--arg", "zeros:float32[100]"};

Args with(Args args, const Args& more) {
  args.insert(args.end(), more.begin(), more.end());
  return args;
}

TEST(Devices, OfAPluginAreListedWithTheirAttributes) {
  const Outcome devices = gantry({"devices"});

  EXPECT_EQ(devices.status, 0);
  EXPECT_THAT(devices.err, IsEmpty());
  EXPECT_THAT(devices.out, HasSubstr("abacus:1  example.abacus\n"
                                     "  name  Abacus, an invented accelerator\n"
                                     "  multiprocessors  1\n"
                                     "  max_threads_per_block  1024\n"
                                     "  warp_size  1\n"
                                     "  total_global_memory  64.0 MiB\n"
                                     "  available_global_memory  64.0 MiB\n"
                                     "  allocated  0 B\n"
                                     "  uuid  abac0500000000000000000000000001\n"
                                     "  vendor_id  43948\n"
                                     "  product_id  1\n"));
}

TEST(Devices, HaveNumbersInTheDocument) {
  const Outcome devices = gantry({"devices", "--json"});

  EXPECT_EQ(devices.status, 0);
  EXPECT_THAT(devices.out, AllOf(HasSubstr("\"total_global_memory_bytes\": 67108864,"),
                                 HasSubstr("\"uuid\": \"abac0500000000000000000000000001\"")));
}

TEST(Devices, AreCheckedForThePayloadsOfAnArtifact) {
  const Outcome doctor = gantry({"plugins", "doctor", "--artifact", here("abacus.so"), "--probe"});

  EXPECT_EQ(doctor.status, 0) << doctor.err;
  EXPECT_THAT(doctor.out, HasSubstr("  OPTIMAL   entry 2 \"example.abacus\" of abacus.so on "
                                    "abacus:0, plugin example.abacus\n"));
}

TEST(Devices, HaveTheConfiguredCount) {
  const Outcome devices = gantry({"devices"}, {"GANTRY_CONFIG_EXAMPLE_ABACUS__DEVICES=3"});

  EXPECT_THAT(devices.out, AllOf(HasSubstr("abacus:2  "), Not(HasSubstr("abacus:3  "))));
}

// The error names the missing library that a plugin links, and the directories that were searched.
TEST(Devices, WithoutTheirDriverLibraryReportItsNameAndTheSearchedDirectories) {
  const TempDir directory;
  std::filesystem::create_symlink(build_tree() / "tests/fake_plugins/libfake_missing_dependency.so",
                                  directory / "libfake.so");
  write_file(directory / "fake.yaml", std::string_view(R"(schema: "1.0"
id: test.fake
version: "1.0.0"
library: libfake.so
abi: {major: 1, min_minor: 0, max_minor: 0}
keys: [{key: fake}]
devices: [{name: fake_device}]
)"));

  const Outcome devices = gantry({"--plugins", directory.path().string(), "devices"});

  EXPECT_EQ(devices.status, 0) << "the other devices are available";
  EXPECT_THAT(devices.out, AllOf(HasSubstr("cpu:0"), HasSubstr("abacus:0")));
  EXPECT_THAT(
      devices.err,
      HasSubstr(
          "gantry: warning: device \"fake_device\" needs \"fake_device\", served by no plugin\n"
          "  device \"fake_device\"\n"
          "    test.fake 1.0.0 is refused, GANTRY-D330 LIB_NEEDED_MISSING: "
          "libfake_dependency.so.4 is not found, needed by libfake.so; searched $ORIGIN="));
  EXPECT_THAT(devices.err, HasSubstr("the linker's cache"));
}

TEST(RunOnADevice, CallsAFunctionWithTensorsOnIt) {
  for (const char* device : {"abacus:0", "abacus:1", "abacus"}) {
    const Outcome run =
        gantry(with({"run", here("abacus.so"), "--function", "axpy2", "--device", device}, zeros));

    EXPECT_EQ(run.status, 0) << run.err;
    EXPECT_THAT(run.out, HasSubstr("arg2  float32[100]  0 0 0")) << device;
  }
}

TEST(RunOnADevice, LoadsItsProgramsBeforeTheFirstRunAndHasItsKernelsInTheTrace) {
  const TempDir directory;
  const std::string input = (directory / "in.npy").string();
  const std::vector<std::int64_t> shape{100};
  const std::vector<std::uint8_t> content(400);
  write_file(input, npy_bytes({2, 32, 1}, shape, content).value());
  const std::string trace = (directory / "trace.json").string();

  const Outcome run = gantry({"--log", "info", "run", here("abacus.so"), "--device", "abacus:1",
                              "--input", "x=" + input, "--input", "w=" + input, "--trace", trace});

  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("loading kernel \"relu_kernel\" onto abacus:1"));
  const auto bytes = read_file(trace);
  const auto document = nlohmann::json::parse(bytes.begin(), bytes.end());
  double prepared = -1, first_kernel = -1;
  std::vector<std::string> kernels, groups;
  for (const auto& event : document["traceEvents"]) {
    if (event["name"] == "process_name") groups.push_back(event["args"]["name"]);
    if (event["ph"] != "X") continue;
    const double begin = event["ts"], time = event["dur"];
    if (event["name"] == "prepare") prepared = std::max(prepared, begin + time);
    if (event["cat"] != "kernel") continue;
    kernels.push_back(event["name"]);
    if (first_kernel < 0) first_kernel = begin;
  }
  EXPECT_THAT(kernels, ElementsAre("axpy2_kernel", "relu_kernel"));
  EXPECT_THAT(groups, ElementsAre("gantry", "abacus:1 (example.abacus)"));
  EXPECT_GT(prepared, 0);
  EXPECT_GT(first_kernel, prepared);
}

TEST(RunOnADevice, ThatDoesNotExistReportsTheDeviceCount) {
  const Outcome run = gantry(
      with({"run", here("abacus.so"), "--function", "axpy2", "--device", "abacus:2"}, zeros));

  EXPECT_NE(run.status, 0);
  EXPECT_THAT(run.err, HasSubstr("device \"abacus:2\" not found; abacus has 2 devices"));
}

TEST(RunOnADevice, WithoutItsPluginNamesTheTypeKey) {
  const Outcome run = run_gantry(
      with({"--plugins", built_plugins("graph"), "run", here("abacus.so"), "--function", "axpy2"},
           zeros));

  EXPECT_NE(run.status, 0);
  EXPECT_THAT(run.err, HasSubstr("\"example.abacus\", served by no plugin"));
}

// A graph on number 12, ext_dev, and on the CPU: the device has an assigned number.
class RunOnExtDev : public ::testing::Test {
 protected:
  std::string packed(const std::filesystem::path& recipe) {
    const Outcome pack = run_gantry({"pack", recipe.string(), "-o", file("model.so")});
    EXPECT_EQ(pack.status, 0) << pack.err;
    return file("model.so");
  }
  // Runs the model on inputs of ones.
  Outcome run(const std::string& model, const Args& inputs, const Args& more = {}) {
    const std::vector<float> ones(100, 1.0f);
    const std::span<const std::uint8_t> bytes(reinterpret_cast<const std::uint8_t*>(ones.data()),
                                              ones.size() * 4);
    const std::int64_t shape[] = {100};
    std::vector<NpzItem> items;
    for (const std::string& name : inputs) items.push_back({name, dtypes::float32, shape, bytes});
    EXPECT_TRUE(write_npz(file("x.npz"), items).ok());
    return run_gantry(
        with({"--plugins", here("plugins.d/abacus"), "--plugins", here("plugins.d/soroban"),
              "--plugins", built_plugins("graph"), "run", model, "--input", file("x.npz")},
             more));
  }
  std::string file(const char* name) const { return (directory / name).string(); }
  TempDir directory;
};

TEST_F(RunOnExtDev, UsesTheDeviceOfTheModules) {
  const std::string model = packed(write_spread_model(directory.path()));

  const Outcome chosen = run(model, {"x", "w"});
  const Outcome named = run(model, {"x", "w"}, {"--device", "abacus:1", "--device", "cpu"});
  const Outcome other = run(model, {"x", "w"}, {"--device", "soroban", "--device", "cpu"});

  EXPECT_EQ(chosen.status, 0);
  EXPECT_EQ(chosen.err, "gantry: runs on abacus, cpu, for which \"model.so\" is made\n");
  EXPECT_THAT(chosen.out, HasSubstr("output  float32[100]  1.5 1.5"));
  EXPECT_EQ(named.status, 0) << named.err;
  EXPECT_THAT(named.err, IsEmpty());
  EXPECT_THAT(named.out, HasSubstr("output  float32[100]  1.5 1.5"));
  EXPECT_EQ(other.status, 1);
  EXPECT_THAT(other.err, HasSubstr("\"model.so\" is made for abacus, cpu, --device names soroban, "
                                   "cpu; this host has: cpu, abacus:0"));
  EXPECT_THAT(
      run(model, {"x", "w"}, {"--device", "abacus:1"}).err,
      HasSubstr("\"model.so\" is made for abacus, cpu, --device names abacus:1: name cpu as "
                "well; this host has: "));
}

TEST_F(RunOnExtDev, UsesTheFirstDeviceIfNoModuleDeterminesIt) {
  const std::string model = packed(write_copied_model(directory.path()));

  const Outcome chosen = run(model, {"x"});
  const Outcome named = run(model, {"x"}, {"--device", "soroban:1", "--device", "cpu"});

  EXPECT_EQ(chosen.status, 0);
  EXPECT_THAT(chosen.err,
              AllOf(HasSubstr("is made for ext_dev, served by abacus, soroban: abacus is used"),
                    HasSubstr("gantry: runs on abacus, cpu, for which \"model.so\" is made\n")));
  EXPECT_THAT(chosen.out, HasSubstr("output  float32[100]  0.5 0.5"));
  EXPECT_EQ(named.status, 0) << named.err;
  EXPECT_THAT(named.err, IsEmpty());
  EXPECT_THAT(named.out, HasSubstr("output  float32[100]  0.5 0.5"));
}

TEST_F(RunOnExtDev, IsRefusedWithoutADeviceThatServesTheNumber) {
  const std::string model = packed(write_copied_model(directory.path()));

  const Outcome refused = run_gantry({"--plugins", built_plugins("graph"), "run", model});

  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.err,
              HasSubstr("gantry: \"model.so\" is made for ext_dev, cpu; this host has: "
                        "cpu\n  device \"ext_dev\" needs \"ext_dev\", served by no "
                        "plugin"));
}

// The artifact's code checks the device of its arguments, also for tensors on the CPU.
TEST(RunOnADevice, RefusesTensorsOfAnotherDevice) {
  const Outcome run =
      gantry(with({"run", here("abacus.so"), "--function", "axpy2", "--device", "cpu"}, zeros));

  EXPECT_NE(run.status, 0);
  EXPECT_THAT(run.err, HasSubstr("an argument is not on device type 12, ext_dev"));
}

}  // namespace
}  // namespace gantry::test
