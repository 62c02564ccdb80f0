// SPDX-License-Identifier: Apache-2.0
//
// The command line without a driver library, and without a plugin's directory: its errors, and the
// devices that still work.
//
// A copy of the plugin contains another name for the library, so that the library is missing on
// every machine that runs the test.
#include "tests/golden/cli_command.hpp"
#include "tests/support/files.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>

namespace gantry::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Args = std::vector<std::string>;

struct Driver {
  const char* plugin;
  // name in the plugin
  const char* library;
  // name in the copy, of equal length
  const char* renamed;
  const char* artifact;
  // Expected error of the dynamic linker, or of a plugin that opens the library itself.
  const char* sought;
  bool is_linked;
};
void PrintTo(const Driver& driver, std::ostream* out) { *out << driver.plugin; }

constexpr Driver drivers[] = {
    {"opencl", "libOpenCL.so.1", "libOpenCL.so.9", "tvm-0.12/axpy2_opencl.so",
     "GANTRY-D330 LIB_NEEDED_MISSING: libOpenCL.so.9 is not found, needed by libgantry_opencl.so; "
     "searched $ORIGIN=",
     true},
    {"vulkan", "libvulkan.so.1", "libvulkan.so.9", "tvm-0.12/axpy2_vulkan.so",
     "GANTRY-D330 LIB_NEEDED_MISSING: libvulkan.so.9 is not found, needed by libgantry_vulkan.so; "
     "searched $ORIGIN=",
     true},
    {"cuda", "libcuda.so.1", "libcuda.so.9", "tvm-0.12/axpy2_cuda_ptx75.so",
     "CUDA driver is missing, tried 3 names; -v lists them\n", false},
};

class PluginDirectory : public ::testing::TestWithParam<Driver> {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(built()))
      GTEST_SKIP() << "this build has no plugin " << GetParam().plugin;
  }
  std::filesystem::path built() const { return built_plugins(GetParam().plugin); }
  std::filesystem::path directory() const { return temp / "plugins.d" / GetParam().plugin; }
  void install() {
    std::filesystem::create_directories(directory().parent_path());
    std::filesystem::copy(built(), directory());
  }
  Outcome gantry(Args args) const {
    args.insert(args.begin(),
                {"--plugins", built_plugins("graph"), "--plugins", directory().string()});
    return run_gantry(args, {"LSAN_OPTIONS=detect_leaks=0"});
  }
  Outcome run_axpy2(Args args = {}) const {
    args.insert(args.end(), {"run", GetParam().artifact, "--function", "axpy2", "--device",
                             std::string(GetParam().plugin) + ":0", "--arg", "zeros:float32[16]",
                             "--arg", "zeros:float32[16]", "--arg", "zeros:float32[16]"});
    return gantry(std::move(args));
  }
  static Outcome run_on_the_cpu(const PluginDirectory& here) {
    return here.gantry({"run", "tvm-0.12/digits_mlp_llvm.so", "--each", "--input",
                        "x=tvm-0.12/digits_mlp.input.npz", "--expect",
                        "tvm-0.12/digits_mlp_llvm.expected.npz", "--rtol", "1e-5"});
  }
  const TempDir temp;
};

class WithoutDriver : public PluginDirectory {
 protected:
  void SetUp() override {
    PluginDirectory::SetUp();
    if (IsSkipped()) return;
    install();
    const std::string_view name = GetParam().library, renamed = GetParam().renamed;
    ASSERT_EQ(name.size(), renamed.size());
    const auto library = directory() / ("libgantry_" + std::string(GetParam().plugin) + ".so");
    std::vector<std::uint8_t> bytes = read_file(library);
    int found = 0;
    for (auto at = bytes.begin();; ++found, ++at) {
      at = std::search(at, bytes.end(), name.begin(), name.end());
      if (at == bytes.end()) break;
      std::copy(renamed.begin(), renamed.end(), at);
    }
    ASSERT_GT(found, 0) << library << " does not name " << name;
    write_file(library, bytes);
  }
};

TEST_P(WithoutDriver, ListsTheOtherDevicesAndReportsTheLibraryAndTheSearchedDirectories) {
  const Outcome devices = gantry({"devices"});

  EXPECT_EQ(devices.status, 0);
  EXPECT_THAT(devices.out, AllOf(HasSubstr("cpu:0"), Not(HasSubstr(GetParam().plugin))));
  EXPECT_THAT(devices.err, AllOf(HasSubstr("gantry: warning: "), HasSubstr(GetParam().sought)));
  if (GetParam().is_linked) {
    EXPECT_THAT(devices.err,
                AllOf(HasSubstr(directory().string()), HasSubstr("the linker's cache")));
  } else {
    EXPECT_THAT(devices.err, HasSubstr("LD_LIBRARY_PATH, /etc/ld.so.cache"));
  }
}

// The names that were tried, each with the linker's message, are details.
TEST_P(WithoutDriver, ListsTheNamesThatWereTriedWithV) {
  if (GetParam().is_linked) GTEST_SKIP() << "the system's linker looks for one name";
  const std::string names = concat("tried 3 names\n    ", GetParam().renamed, ": ");

  EXPECT_THAT(gantry({"-v", "devices"}).err, HasSubstr(names));
  EXPECT_THAT(gantry({"devices", "--json"}).out, HasSubstr("tried 3 names\\n    "));
  EXPECT_THAT(gantry({"-v", "plugins", "doctor", "--probe"}).out, HasSubstr(names));
  EXPECT_THAT(run_axpy2({"-v"}).err, HasSubstr(names));
}

// Without --probe the doctor reports missing libraries that a plugin links; with it, also those
// that a plugin opens itself.
TEST_P(WithoutDriver, IsDiagnosed) {
  const Outcome looked = gantry({"plugins", "doctor", "--artifact", GetParam().artifact});
  const Outcome probed =
      gantry({"plugins", "doctor", "--probe", "--artifact", GetParam().artifact});

  const std::string linked = std::string("LIB_NEEDED_MISSING  ") + GetParam().renamed;
  if (GetParam().is_linked) {
    EXPECT_EQ(looked.status, 1);
    EXPECT_THAT(looked.out, HasSubstr(linked));
  } else {
    EXPECT_THAT(looked.out, AllOf(HasSubstr("CHOSEN"), Not(HasSubstr("\nprobe\n"))));
    EXPECT_THAT(probed.out, HasSubstr(std::string("  FAILED   ") + GetParam().sought));
  }
  EXPECT_THAT(probed.out, HasSubstr("\nprobe\n  FOUND    cpu:0\n"));
}

TEST_P(WithoutDriver, RefusesToRunThere) {
  const Outcome run = run_axpy2();

  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.out, IsEmpty());
  EXPECT_THAT(run.err, HasSubstr(GetParam().sought));
  const Outcome cpu = run_on_the_cpu(*this);
  EXPECT_EQ(cpu.status, 0) << cpu.err;
}

INSTANTIATE_TEST_SUITE_P(Each, WithoutDriver, ::testing::ValuesIn(drivers),
                         [](const auto& test) { return std::string(test.param.plugin); });

// Removing a plugin's directory removes its device; nothing is rebuilt.
TEST_P(PluginDirectory, RemovedRemovesOnlyItsDevice) {
  install();
  const Outcome there = run_axpy2();
  if (there.status != 0) GTEST_SKIP() << "no " << GetParam().plugin << ":0: " << there.err;
  EXPECT_THAT(there.out, HasSubstr("arg2  float32[16]  0 0 0"));

  std::filesystem::rename(directory(), temp / "away");
  const Outcome away = run_axpy2(), devices = gantry({"devices"}), cpu = run_on_the_cpu(*this);
  std::filesystem::rename(temp / "away", directory());
  const Outcome again = run_axpy2();

  EXPECT_EQ(away.status, 1);
  EXPECT_THAT(away.err,
              HasSubstr(std::string("needs \"") + GetParam().plugin + "\", served by no plugin"));
  EXPECT_THAT(devices.out, AllOf(HasSubstr("cpu:0"), Not(HasSubstr(GetParam().plugin))));
  EXPECT_EQ(cpu.status, 0) << cpu.err;
  EXPECT_EQ(again.status, 0) << again.err;
  EXPECT_THAT(again.out, HasSubstr("arg2  float32[16]  0 0 0"));
}

INSTANTIATE_TEST_SUITE_P(Each, PluginDirectory, ::testing::ValuesIn(drivers),
                         [](const auto& test) { return std::string(test.param.plugin); });

}  // namespace
}  // namespace gantry::test
