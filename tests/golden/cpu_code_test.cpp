// SPDX-License-Identifier: Apache-2.0
//
// What is known of CPU code before it runs: the CPU that it is compiled for, and where it is.
#include "core/engine/runtime/cpu_requirement.hpp"
#include "tests/support/built_runtime.hpp"
#include "tests/support/files.hpp"
#include "tools/gantry/cpu_instructions.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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

// All golden libraries are compiled for any x86-64.
TEST(CpuInstructions, OfLibrariesForAnyCpuNeedNothing) {
  int count = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(test::golden(""))) {
    if (entry.path().extension() != ".so") continue;
    const auto elf = ElfFile::parse(MappedFile::open(entry.path()).value());
    if (!elf.ok()) continue;
    const auto unmet = cli::unmet_by_instructions(*elf, baseline);
    ASSERT_TRUE(unmet.ok()) << unmet.error().message;
    EXPECT_FALSE(*unmet) << entry.path() << ": " << (*unmet)->text;
    ++count;
  }
  EXPECT_GT(count, 20);
}

// Of a library in which each of some functions begins with other bytes.
Result<std::optional<CpuRequirement>> unmet_with(
    std::initializer_list<std::pair<const char*, std::vector<std::uint8_t>>> functions,
    const HasFeature& has = baseline) {
  auto library = test::read_file(test::golden("tvm-0.25/axpy2_llvm.so"));
  const ElfFile elf = ElfFile::parse(library).value();
  for (const auto& [name, code] : functions) {
    const auto at = elf.offset_in_file(elf.bytes_of(*elf.find(name)).value());
    std::ranges::copy(code, library.begin() + static_cast<std::ptrdiff_t>(at));
  }
  return cli::unmet_by_instructions(ElfFile::parse(library).value(), has);
}

const std::vector<std::uint8_t> vaddps = {0xc5, 0xfc, 0x58, 0xc1};

struct Encoded {
  const char* name;
  std::vector<std::uint8_t> code;
  std::vector<std::string_view> missing;
};
class CpuInstructionsCase : public ::testing::TestWithParam<Encoded> {};

TEST_P(CpuInstructionsCase, NeedTheirInstructionSets) {
  const auto unmet = unmet_with({{"__tvm_ffi_axpy2", GetParam().code}});

  ASSERT_TRUE(unmet.ok()) << unmet.error().message;
  const std::vector<std::string_view> missing =
      *unmet ? (*unmet)->missing : std::vector<std::string_view>();
  EXPECT_EQ(missing, GetParam().missing);
}

INSTANTIATE_TEST_SUITE_P(
    Of, CpuInstructionsCase,
    ::testing::Values(
        Encoded{"Sse41", {0x66, 0x0f, 0x3a, 0x40, 0xc1, 0x01}, {"sse4.1"}},
        Encoded{"Popcnt", {0xf3, 0x0f, 0xb8, 0xc1}, {"popcnt"}},
        Encoded{"Avx", {0xc5, 0xfc, 0x58, 0xc1}, {"avx"}},
        Encoded{"Avx2", {0xc5, 0xfd, 0xfe, 0xc1}, {"avx2"}},
        Encoded{"Fma", {0xc4, 0xe2, 0x75, 0xb8, 0xc2}, {"fma"}},
        Encoded{"Bmi", {0xc4, 0xe2, 0x78, 0xf2, 0xc1}, {"bmi"}},
        Encoded{"Avx512", {0x62, 0xf1, 0x7c, 0x48, 0x58, 0xc1}, {"avx512f"}},
        Encoded{"NarrowAvx512", {0x62, 0xf1, 0x7c, 0x28, 0x58, 0xc1}, {"avx512f", "avx512vl"}},
        Encoded{"Vnni", {0x62, 0xf2, 0x7d, 0x48, 0x50, 0xc1}, {"avx512vnni"}},
        Encoded{"TzcntWhichOldCpusExecuteAsBsf", {0xf3, 0x0f, 0xbc, 0xc1}, {}},
        Encoded{"CodeThatAsksTheCpu", {0x0f, 0xa2, 0xc5, 0xfc, 0x58, 0xc1}, {}}),
    [](const auto& tested) { return std::string(tested.param.name); });

TEST(CpuInstructions, AreNamedWithTheAddressOfTheFirst) {
  const auto unmet = unmet_with({{"__tvm_ffi_axpy2", vaddps}});

  ASSERT_TRUE(unmet.ok() && *unmet);
  EXPECT_EQ(
      to_text(**unmet),
      "it is compiled for avx (vaddps at address 0x1120), which this CPU lacks: calls may end "
      "the process with SIGILL; compile it for this CPU or an older one");
}

// 0x06 is no instruction of 64-bit code.
TEST(CpuInstructions, OfTheNextFunctionAreReadBehindBytesThatAreNone) {
  const auto unmet = unmet_with({{"__tvm_ffi_axpy2", {0x06}}, {"__truncsfhf2", vaddps}});

  ASSERT_TRUE(unmet.ok() && *unmet);
  EXPECT_EQ((*unmet)->text, "vaddps at address 0x1a20");
}

TEST(CpuInstructions, ThatTheCpuHasAreNotNamed) {
  const auto unmet =
      unmet_with({{"__tvm_ffi_axpy2", vaddps}}, [](std::string_view) { return true; });

  ASSERT_TRUE(unmet.ok());
  EXPECT_FALSE(*unmet);
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
