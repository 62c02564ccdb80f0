// SPDX-License-Identifier: Apache-2.0
//
// Cases 54 and 55: complete payloads of another device or architecture.
#include "core/engine/native/library.hpp"
#include "core/formats/container_location.hpp"
#include "core/formats/elf/elf_file.hpp"
#include "device_payload.hpp"
#include "tests/support/files.hpp"

#include <gmock/gmock.h>

#include <algorithm>

namespace gantry::conformance {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

class ForeignPayload : public DevicePayload {
 protected:
  std::vector<Tensor> vectors() {
    return {vector(100, 1, 1), vector(100, 2, 2), vector(100, 0, 0)};
  }
  // Calls axpy2 of `artifact`, a modified copy of an artifact.
  Status call_axpy2(std::span<const std::uint8_t> artifact) {
    test::write_file(directory / "changed.so", artifact);
    GANTRY_TRY(const Module module, runtime->load((directory / "changed.so").string()));
    GANTRY_TRY(const Function axpy2, module.function("axpy2"));
    const std::vector<Tensor> all = vectors();
    GANTRY_CHECK(axpy2(all[0], all[1], all[2]));
    return runtime->copy(all[2], runtime->tensor(all[2].shape(), all[2].dtype()).value());
  }
  test::TempDir directory;
};

// 54: payloads that the loaders of all other devices accept.
TEST_P(ForeignPayload, IsRefused) {
  const ObjectPtr pin = no_pin();
  for (const UnderTest& other : devices) {
    const std::vector<std::uint8_t> foreign = payload_of(*runtime, other);
    if (foreign.empty() || other.type_key == std::string_view(GetParam().type_key)) continue;
    const std::string_view accelerators[] = {devices[1].kind, devices[2].kind};
    const auto is_accelerator = [&](const char* kind) {
      return std::find(std::begin(accelerators), std::end(accelerators), kind) !=
             std::end(accelerators);
    };
    // The accelerators are copies of each other and read the same language.
    if (is_accelerator(GetParam().kind) && is_accelerator(other.kind)) continue;
    const Guarded bytes(foreign);

    const auto loaded = load(bytes.bytes(), pin.get());

    ASSERT_FALSE(loaded.ok()) << GetParam().type_key << " accepts a payload of " << other.type_key;
    EXPECT_TRUE(loaded.error().code == Code::malformed || loaded.error().code == Code::unsupported)
        << other.kind << ": " << loaded.error().message;
    EXPECT_FALSE(loaded.error().message.empty()) << other.kind;
    EXPECT_FALSE(verdict_of(bytes.bytes()).ok()) << other.kind;
  }
}

// 55, CUDA: compiled for one architecture. The loader accepts it, because a later device may match;
// a call fails.
TEST_P(ForeignPayload, ForAnotherArchitectureNamesBoth) {
  if (GetParam().kind == std::string_view("opencl"))
    GTEST_SKIP() << "its artifacts are source, which every device compiles";
  if (GetParam().kind == std::string_view("vulkan"))
    GTEST_SKIP() << "SPIR-V has no architecture; unit_vulkan tests missing features";
  if (GetParam().kind != std::string_view("cuda")) GTEST_SKIP() << "its language has no versions";
  std::vector<std::uint8_t> artifact =
      test::read_file(test::golden("tvm-0.12/axpy2_cuda_cubin90.so"));
  const std::uint8_t elf[] = {0x7f, 'E', 'L', 'F'}, architecture[] = {90, 0, 0, 0};
  const auto cubin =
      std::search(artifact.begin() + 1, artifact.end(), std::begin(elf), std::end(elf));
  ASSERT_NE(cubin, artifact.end());
  // It lies in a fatbin, whose header contains the architecture.
  const auto arch =
      std::search(cubin - 64, cubin, std::begin(architecture), std::end(architecture));
  ASSERT_NE(arch, cubin) << "the golden file was compiled for sm_90";
  // No supported device has this architecture.
  *arch = cubin[49] = 52;
  test::write_file(directory / "sm_52.so", artifact);

  const auto verdict = verdict_of(
      payload_of(*runtime, {"cuda", (directory / "sm_52.so").c_str(), GetParam().type_key}));
  const Status called = call_axpy2(artifact);

  ASSERT_TRUE(verdict.ok()) << verdict.error().message;
  EXPECT_EQ(*verdict, GANTRY_VERDICT_NO);
  ASSERT_FALSE(called.ok());
  EXPECT_EQ(called.error().code, Code::unavailable);
  EXPECT_EQ(called.error().reason, "BLOB_ARCH");
  EXPECT_THAT(called.error().message,
              AllOf(HasSubstr("cuda: payload has fatbin with cubin for sm_52, device 0 ("),
                    MatchesRegex("(.|\n)* is sm_[0-9a-z]+; export the model for sm_(.|\n)*")));
}

INSTANTIATE_TEST_SUITE_P(Every, ForeignPayload, ::testing::ValuesIn(devices), name_of_test);

// 55, the CPU: CPU code for another machine is detected from its bytes before the library is
// opened.
TEST(ForeignCpuCode, ForAnotherMachineNamesBoth) {
  std::vector<std::uint8_t> artifact = test::read_file(path_of(devices[0]));
  // e_machine: x86-64 and aarch64
  artifact[18] = artifact[18] == 62 ? 183 : 62;
  const test::TempDir directory;
  test::write_file(directory / "other.so", artifact);

  const auto file = MappedFile::open(directory / "other.so").value();
  const ElfFile elf = ElfFile::parse(file).value();
  const auto location = locate_container(elf).value();
  const auto judged = check_cpu_code(elf, facts_of(location.symbols, ContainerLayout::none), "it");
  const auto loaded = make_runtime()->load((directory / "other.so").string());

  ASSERT_FALSE(judged.ok());
  ASSERT_FALSE(loaded.ok());
  for (const Error& error : {judged.error(), loaded.error()}) {
    EXPECT_EQ(error.code, Code::unavailable);
    EXPECT_EQ(error.reason, "BLOB_ARCH");
    EXPECT_THAT(error.message, AllOf(HasSubstr("x86-64"), HasSubstr("aarch64")));
  }
}

}  // namespace
}  // namespace gantry::conformance
