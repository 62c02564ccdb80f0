// SPDX-License-Identifier: Apache-2.0
//
// What is known of CPU code before it runs: the CPU that it is compiled for, and where it is.
#include "core/engine/runtime/cpu_requirement.hpp"
#include "tests/support/built_runtime.hpp"
#include "tests/support/files.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

namespace gantry {
namespace {

using ::testing::ElementsAre;
using ::testing::IsSupersetOf;

constexpr auto baseline = [](std::string_view) { return false; };

TEST(CpuRequirement, IsThatOfATargetInEachForm) {
  const auto text = unmet_in_target("llvm -keys=cpu -mcpu=haswell -num-cores=4", baseline);
  const auto json =
      unmet_in_target(R"({"kind": "llvm", "keys": ["cpu"], "mcpu": "skylake-avx512"})", baseline);
  const auto attributes = unmet_in_target("llvm -mattr=+avx2,+fma,-fma,+other", baseline);

  ASSERT_TRUE(text && json && attributes);
  EXPECT_EQ(text->text, "-mcpu=haswell");
  EXPECT_THAT(text->missing, IsSupersetOf({"avx2", "fma"}));
  EXPECT_EQ(json->text, "-mcpu=skylake-avx512");
  EXPECT_THAT(json->missing, IsSupersetOf({"avx512f", "avx512vl"}));
  EXPECT_EQ(attributes->text, "-mattr=+avx2,+fma,-fma,+other");
  EXPECT_THAT(attributes->missing, ElementsAre("avx2"));
}

TEST(CpuRequirement, IsThatOfACompilersOptions) {
  const auto gcc =
      unmet_in_options("GNU C17 12.2.0 -mavx2 -mtune=generic -march=x86-64 -g", baseline);
  const auto clang = unmet_in_options("clang -O2 -march=znver4 -mno-avx512f f.c", baseline);

  ASSERT_TRUE(gcc && clang);
  EXPECT_EQ(
      to_text(*gcc),
      "it is compiled for avx2 (-mavx2 -march=x86-64), which this CPU lacks: calls may end the "
      "process with SIGILL; compile it for this CPU or an older one");
  EXPECT_THAT(clang->missing, IsSupersetOf({"avx2", "avx512bw"}));
  EXPECT_THAT(clang->missing, ::testing::Not(::testing::Contains("avx512f")));
}

TEST(CpuRequirement, IsMetByACpuThatHasTheInstructionSets) {
  const auto all = [](std::string_view) { return true; };
  const auto avx = [](std::string_view feature) { return feature != "avx2"; };

  EXPECT_FALSE(unmet_in_target("llvm -mcpu=haswell", all));
  EXPECT_THAT(unmet_in_target("llvm -mcpu=haswell", avx)->missing, ElementsAre("avx2"));
  for (const char* text : {"llvm", "llvm -mcpu=x86-64", "llvm -mcpu=unheard-of", "cuda -arch=sm_90",
                           "opencl -host=\"llvm -mcpu=haswell\"", "-mcpu=haswell", "{\"mcpu\": 1"})
    EXPECT_FALSE(unmet_in_target(text, baseline)) << text;
}

// All golden libraries are compiled for any x86-64.
TEST(CpuRequirement, IsNoneOfLibrariesForAnyCpu) {
  int count = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(test::golden(""))) {
    if (entry.path().extension() != ".so") continue;
    const auto elf = ElfFile::parse(MappedFile::open(entry.path()).value());
    if (!elf.ok()) continue;
    const auto unmet = unmet_cpu_requirement(*elf, baseline);
    EXPECT_FALSE(unmet) << entry.path() << ": " << unmet->text;
    ++count;
  }
  EXPECT_GT(count, 20);
}

// The system refuses absolute paths of more than PATH_MAX bytes.
TEST(CpuCode, LoadsByARelativeNameBelowADeepDirectory) {
  const test::TempDir directory;
  const auto library = test::read_file(test::golden("tvm-0.25/axpy2_llvm.so"));
  const std::string name(200, 'd');
  const int before = ::open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  ASSERT_EQ(::chdir(directory.path().c_str()), 0);
  bool is_deep = true;
  for (int i = 0; i < 25; ++i)
    is_deep = is_deep && ::mkdir(name.c_str(), 0700) == 0 && ::chdir(name.c_str()) == 0;
  test::write_file("axpy2.so", library);
  Runtime runtime = test::new_runtime();

  const auto module = runtime.load("axpy2.so");

  ASSERT_EQ(::fchdir(before), 0);
  ::close(before);
  EXPECT_TRUE(is_deep);
  EXPECT_TRUE(module.ok()) << module.error().message;
}

}  // namespace
}  // namespace gantry
