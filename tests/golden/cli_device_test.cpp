// SPDX-License-Identifier: Apache-2.0
//
// Runs artifacts that TVM exported for devices with the built program, on this machine's drivers.
#include "tests/golden/cli_command.hpp"
#include "tests/support/files.hpp"
#include "tests/support/page.hpp"

#include "core/formats/arrays/npy.hpp"
#include "tests/support/array_value.hpp"
#include "tests/support/npz_file.hpp"

#include <gantry/join.hpp>

#include <gmock/gmock.h>

#include <array>
#include <filesystem>
#include <tuple>

namespace gantry::test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Args = std::vector<std::string>;

struct Kind {
  // name of the plugin, the device, the cache directory, and part of the artifacts' names
  std::string name;
  // environment in which the driver loader finds no driver, and the text that is then expected
  Args nowhere;
  std::string not_found;
};

const std::array<Kind, 2> kinds = {
    Kind{"opencl",
         {"OCL_ICD_VENDORS=/nowhere/"},
         "no OpenCL driver: libOpenCL.so.1 looks for files *.icd in \"/nowhere/\", where "
         "OCL_ICD_VENDORS points, and finds none"},
    Kind{"vulkan",
         {"VK_ICD_FILENAMES=/nowhere/driver.json", "VK_DRIVER_FILES=/nowhere/driver.json"},
         "no Vulkan driver starts; VK_DRIVER_FILES is \"/nowhere/driver.json\", which replaces the "
         "default directories; \"/nowhere/driver.json\" does not exist"}};

struct Model {
  const char* name;
  const char* input;
};

class OnDevice : public ::testing::Test {
 protected:
  explicit OnDevice(const Kind& kind) : kind_(kind) {}
  void SetUp() override {
    const Outcome devices = gantry({"devices"});
    if (devices.out.find(device()) == std::string::npos)
      GTEST_SKIP() << "no " << device() << ": " << devices.out << devices.err;
  }

  std::string device() const { return kind_.name + ":0"; }
  std::filesystem::path cache() const { return temp_ / "cache" / kind_.name; }
  // gantry caches in a new directory for each test, drivers in driver_caches().
  Outcome gantry(Args args, Args environment = {}) {
    const std::string plugins = built_plugins();
    write_file(temp_ / "runtime.yaml", "cache: " + (temp_ / "cache").string() +
                                           "\nplugins: {dirs: [" + plugins + "/graph, " + plugins +
                                           "/relax, " + plugins + "/relay_vm, " + plugins + '/' +
                                           kind_.name + "]}\n");
    args.insert(args.begin(), {"--config", (temp_ / "runtime.yaml").string()});
    // Drivers keep their compilers until the process exits.
    environment.push_back("LSAN_OPTIONS=detect_leaks=0");
    return run_gantry(args, environment);
  }
  // Runs a model and compares its outputs with TVM's.
  Outcome run(const Model& model, const Args& environment = {}) {
    const std::string base = concat("tvm-0.12/", model.name);
    return gantry({"run", base + '_' + kind_.name + ".so", "--device", device(), "--input",
                   concat(model.input, "=", base, ".input.npz"), "--each", "--expect",
                   base + '_' + kind_.name + ".expected.npz", "--rtol", "1e-4"},
                  environment);
  }
  void expect_match(const Outcome& outcome, const Model& model) const {
    EXPECT_EQ(outcome.status, 0);
    EXPECT_THAT(outcome.err, IsEmpty());
    EXPECT_THAT(outcome.out,
                HasSubstr(concat("tvm-0.12/", model.name, '_', kind_.name, ".expected.npz\n")));
  }
  std::string floats(std::string_view name, const std::vector<float>& values) {
    const std::span data(reinterpret_cast<const std::uint8_t*>(values.data()), 4 * values.size());
    const std::array<std::int64_t, 1> shape{static_cast<std::int64_t>(values.size())};
    write_file(temp_ / name, npy_bytes({2, 32, 1}, shape, data).value());
    return (temp_ / name).string();
  }

  const TempDir temp_;
  const Kind kind_;
};

class Devices : public OnDevice, public ::testing::WithParamInterface<Kind> {
 protected:
  Devices() : OnDevice(GetParam()) {}
};

TEST_P(Devices, RunAFunctionByName) {
  std::vector<float> a, b;
  for (int i = 0; i < 1000; ++i) {
    a.push_back(0.5F * static_cast<float>(i));
    b.push_back(static_cast<float>(i));
  }

  const Outcome run = gantry({"run", "tvm-0.12/axpy2_" + kind_.name + ".so", "--device", device(),
                              "--function", "axpy2", "--arg", floats("a.npy", a), "--arg",
                              floats("b.npy", b), "--arg", "zeros:float32[1000]"});

  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("arg2  float32[1000]  0 2.5 5 7.5 10 12.5 15 17.5 ..."));
}

TEST_P(Devices, ReuseCachedKernels) {
  const Model model{"digits_mlp", "x"};
  expect_match(run(model), model);
  ASSERT_FALSE(std::filesystem::is_empty(cache()));

  const Outcome again = run(model);

  expect_match(again, model);
}

TEST_P(Devices, ReportTheSearchPathIfThereIsNoDriver) {
  const Outcome devices = gantry({"devices"}, kind_.nowhere);

  EXPECT_THAT(devices.out, Not(HasSubstr(device())));
  EXPECT_THAT(devices.out + devices.err, HasSubstr(kind_.not_found));
}

TEST(PoclWithoutACache, IsALineThatNamesTheDirectory) {
  const Args command{"--plugins", built_plugins("opencl"), "devices"};
  const Outcome with = run_gantry(command);
  if (with.out.find("opencl:0  ") == std::string::npos ||
      with.out.find("pthread") == std::string::npos)
    GTEST_SKIP() << "no PoCL: " << with.out << with.err;

  const Outcome without = run_gantry(command, {"POCL_CACHE_DIR=/proc/none"});

  EXPECT_EQ(without.status, 0);
  EXPECT_THAT(without.out, Not(HasSubstr("opencl")));
  EXPECT_EQ(without.err,
            "gantry: warning: no OpenCL device: driver \"Portable Computing Language\" reports "
            "CL_DEVICE_NOT_FOUND; PoCL cannot write its cache directory \"/proc/none\": set "
            "POCL_CACHE_DIR to a directory that it can write\n");
}

// A kernel that PoCL compiles in seconds, most of them at its first launch.
class LongCompilation : public OnDevice {
 protected:
  LongCompilation() : OnDevice(kinds[0]) {}
  void SetUp() override {
    OnDevice::SetUp();
    if (IsSkipped()) return;
    if (gantry({"devices"}).out.find("pthread") == std::string::npos) GTEST_SKIP() << "no PoCL";
    std::string source = "__kernel void fill(__global float* out, float x) {\n  float y = x + 1;\n";
    for (int i = 0; i < 400; ++i) source += concat("  x = x * y + ", i, "; y = y * ", i, " - x;\n");
    write_file(temp_ / "fill.cl", source + "  out[get_global_id(0)] = x + y;\n}\n");
    write_file(temp_ / "fill.yaml",
               "schema: \"1.0\"\n"
               "device_modules:\n"
               "  - type_key: opencl\n"
               "    kernels:\n"
               "      fill: {source: fill.cl, arguments: [handle, float32],\n"
               "             launch: [blockIdx.x, threadIdx.x]}\n");
    const Outcome packed = gantry({"pack", path("fill.yaml"), "-o", path("fill.so")});
    ASSERT_EQ(packed.status, 0) << packed.err;
  }

  std::string path(std::string_view name) const { return (temp_ / name).string(); }
  // Runs the kernel on a terminal, without anything that an earlier run has cached.
  Outcome compile(Args more) const {
    const TempDir caches;
    Args args{"--plugins",
              built_plugins("opencl"),
              "run",
              path("fill.so"),
              "--device",
              "opencl:0",
              "--force",
              "--function",
              "fill",
              "--arg",
              "zeros:float32[4]",
              "--arg",
              "float:1",
              "--arg",
              "int:1",
              "--arg",
              "int:4"};
    args.insert(args.end(), more.begin(), more.end());
    return run_gantry_on_terminal(
        args, {"POCL_CACHE_DIR=" + caches.path().string(), "LSAN_OPTIONS=detect_leaks=0"});
  }
};

TEST_F(LongCompilation, IsDisplayedOnATerminalAndErased) {
  const Outcome run = compile({});

  EXPECT_EQ(run.status, 0) << run.out;
  const std::size_t at = run.out.find("first launch of kernel \"fill\" on opencl:0");
  ASSERT_NE(at, std::string::npos) << run.out;
  EXPECT_THAT(run.out, HasSubstr(" \rarg0  float32[4]  "));
}

TEST_F(LongCompilation, IsNotDisplayedIfQuiet) {
  const Outcome run = compile({"-q"});

  EXPECT_EQ(run.status, 0) << run.out;
  EXPECT_THAT(run.out, ::testing::StartsWith("arg0  float32[4]  "));
}

TEST_P(Devices, AreThoseThatTheArtifactNames) {
  const std::string line = "gantry: runs on " + kind_.name + ", for which \"digits_mlp_" +
                           kind_.name + ".so\" is made\n";
  const std::string base = "tvm-0.12/digits_mlp";
  const Args run{"run", base + "_" + kind_.name + ".so", "--input", "x=" + base + ".input.npz",
                 "--each"};
  Args quiet = run;
  quiet.push_back("-q");

  EXPECT_EQ(gantry(run).err, line);
  EXPECT_THAT(gantry(quiet).err, IsEmpty());
  const Outcome bench = gantry({"bench", run[1], "--repeat", "1"});
  EXPECT_THAT(bench.out, HasSubstr(kind_.name));
  // The operators have the names of the graph's nodes, not those of their kernels.
  EXPECT_THAT(bench.out, HasSubstr("  tvmgen_default_fused_nn_softmax\n"));
  EXPECT_THAT(bench.out, Not(HasSubstr("_kernel")));
  EXPECT_THAT(bench.out, HasSubstr("\n  host to device  median "));
  EXPECT_THAT(bench.out, HasSubstr(" for 256 B\n"));
  EXPECT_THAT(bench.out, HasSubstr("\n  device to host  median "));
  EXPECT_THAT(gantry({"run", "tvm-0.12/axpy2_" + kind_.name + ".so", "--function", "axpy2", "--arg",
                      "zeros:float32[4]", "--arg", "zeros:float32[4]", "--arg", "zeros:float32[4]"})
                  .err,
              HasSubstr("gantry: runs on " + kind_.name));
}

TEST_P(Devices, ThatTheGraphDoesNotNameAreRefused) {
  const Outcome run =
      gantry({"run", "tvm-0.12/digits_mlp_" + kind_.name + ".so", "--device", "cpu"});

  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.err, HasSubstr(".so\" is made for " + kind_.name +
                                 ", --device names cpu; this host has: cpu, " + device()));
}

TEST_P(Devices, ThatARelayExecutableDoesNotNameAreRefused) {
  if (!std::filesystem::exists(built_plugins("relay_vm"))) GTEST_SKIP() << "no Relay plugin";

  const Outcome run = gantry({"run", "tvm-0.12/digits_mlp_vm_llvm.so", "--device", device(),
                              "--input", "tvm-0.12/digits_mlp.input.npz", "--each"});

  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.err, HasSubstr("\"digits_mlp_vm_llvm.so\" is made for cpu, --device names " +
                                 device() + "; this host has: cpu, "));
}

class OpenClVm : public OnDevice {
 protected:
  OpenClVm() : OnDevice(kinds[0]) {}
  void SetUp() override {
    if (!std::filesystem::exists(built_plugins("relax"))) GTEST_SKIP() << "no Relax plugin";
    OnDevice::SetUp();
  }
};

// Inputs are copied to the device, outputs from it.
TEST_F(OpenClVm, RunsFunctionsOnTheDeviceThatTheArtifactNames) {
  const ArrayValue expected = array_in(golden("relax/cnn_digits_test.npz"), "expected");
  const NpzItem output{"output", expected.header.dtype, expected.header.shape, expected.data};
  const std::string file = (temp_ / "expected.npz").string();
  ASSERT_TRUE(write_npz(file, std::span(&output, 1)).ok());

  const Outcome run = gantry({"--plugins", built_plugins("relax"), "--quiet", "run",
                              "relax/cnn_dyn_opencl.so", "--input", "x=relax/cnn_digits_test.npz:x",
                              "--expect", file, "--rtol", "1e-4", "--atol", "1e-6"});

  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("\nwithin tolerance of " + file + "\n"));
}

TEST_F(OpenClVm, IsMeasuredOnTheDevice) {
  const Outcome bench =
      gantry({"--plugins", built_plugins("relax"), "--quiet", "bench", "relax/cnn_dyn_opencl.so",
              "--input", "x=relax/cnn_digits_test.npz:x", "--repeat", "3"});

  EXPECT_EQ(bench.status, 0) << bench.err;
  EXPECT_THAT(bench.out, HasSubstr(" on opencl:0\n"));
  EXPECT_THAT(bench.out, HasSubstr("  softmax_kernel\n"));
  EXPECT_THAT(bench.out, HasSubstr("\n  host to device  median "));
  EXPECT_THAT(bench.out, HasSubstr("\n  device to host  median "));
}

INSTANTIATE_TEST_SUITE_P(Each, Devices, ::testing::ValuesIn(kinds),
                         [](const auto& test) { return test.param.name; });

class Models : public OnDevice, public ::testing::WithParamInterface<std::tuple<Kind, Model>> {
 protected:
  Models() : OnDevice(std::get<0>(GetParam())) {}
};

TEST_P(Models, MatchTvmWithinTolerance) {
  const Model model = std::get<1>(GetParam());

  const Outcome outcome = run(model);

  expect_match(outcome, model);
  EXPECT_FALSE(std::filesystem::is_empty(cache()));
}

INSTANTIATE_TEST_SUITE_P(Golden, Models,
                         ::testing::Combine(::testing::ValuesIn(kinds),
                                            ::testing::Values(Model{"digits_mlp", "x"},
                                                              Model{"resnet20", "data"})),
                         [](const auto& test) {
                           return concat(std::get<0>(test.param).name, '_',
                                         std::get<1>(test.param).name);
                         });

// The command that plays the script of a Relax executable. Its calls and results are those of the
// script for the CPU.
Args play_command(const std::string& model) {
  const std::string name = concat("relax/", model, "_opencl");
  return {"run", name + ".so", "--script", name + ".json", "--rtol", "1e-4", "--atol", "1e-4"};
}

TEST(RelaxPage, ShowsTheCommandThatIsPlayed) {
  EXPECT_THAT(blocks_of(read_page("plugins/relax/README.md"), "sh"),
              Contains(concat("gantry ", join(play_command("cnn"), " "), "\n")));
}

class Script : public OnDevice, public ::testing::WithParamInterface<const char*> {
 protected:
  Script() : OnDevice(kinds[0]) {}
};

TEST_P(Script, PlaysOnTheDeviceThatTheArtifactNames) {
  const Args play = play_command(GetParam());
  Args given = play;
  given.insert(given.end(), {"--device", "opencl"});

  const Outcome chosen = gantry(play);
  const Outcome named = gantry(given);

  for (const Outcome& run : {chosen, named}) {
    EXPECT_EQ(run.status, 0) << run.out << run.err;
    EXPECT_THAT(run.out, HasSubstr(" calls, 0 differences\n"));
  }
  EXPECT_THAT(chosen.err, HasSubstr("gantry: runs on opencl, for which "));
  EXPECT_THAT(named.err, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Relax, Script, ::testing::Values("cnn", "cnn_dyn"),
                         [](const auto& test) { return std::string(test.param); });

class Vulkan : public OnDevice {
 protected:
  Vulkan() : OnDevice(kinds[1]) {}
};

TEST_F(Vulkan, RunsWithoutValidationMessages) {
  const Outcome outcome =
      run({"digits_mlp", "x"}, {"GANTRY_CONFIG_GANTRY_VULKAN__VALIDATION=true"});

  if (outcome.err.find("which is not installed") != std::string::npos) GTEST_SKIP() << outcome.err;
  expect_match(outcome, {"digits_mlp", "x"});
}

}  // namespace
}  // namespace gantry::test
