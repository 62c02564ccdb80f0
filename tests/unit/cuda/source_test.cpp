// SPDX-License-Identifier: Apache-2.0
//
// Payloads of CUDA C++ source, which the first call on a device compiles.
#include "tests/unit/cuda/fake_nvrtc.hpp"
#include "tests/unit/cuda/world.hpp"

#include <gmock/gmock.h>

namespace gantry::cuda::test {
namespace {

using ::testing::ElementsAre;

constexpr std::string_view empty_source = "extern \"C\" __global__ void empty_kernel() {}";

class SourceModules : public WithFakeDriver {
 protected:
  SourceModules() {
    nvrtc.reset();
    world = std::make_unique<World>(
        World::fake_library(), std::map<std::string, std::string>{{"nvrtc", GANTRY_FAKE_NVRTC}});
  }
  ~SourceModules() override {
    if (module.table != nullptr) module.table->destroy(module.self);
    EXPECT_EQ(nvrtc.programs, 0);
  }
  static Bytes source_payload(std::string_view source = empty_source) {
    return payload_of({{"empty_kernel", "", {}}}, text_bytes(source), "cuda");
  }
  Status call(std::int32_t device = 0) {
    if (module.table == nullptr) module = world->load(source_payload()).value();
    GANTRY_TRY(const gantry_function function, world->function(module, "empty_kernel"));
    return world->call(function, {}, device);
  }

  FakeNvrtc& nvrtc = fake_nvrtc();
  gantry_module module{};
};

TEST_F(SourceModules, AreCompiledByTheFirstCallOnADevice) {
  module = world->load(source_payload()).value();
  EXPECT_TRUE(nvrtc.compilations.empty());

  for (int i = 0; i < 3; ++i) ASSERT_TRUE(call().ok());
  ASSERT_TRUE(call(1).ok());

  ASSERT_EQ(nvrtc.compilations.size(), 2u);
  EXPECT_EQ(nvrtc.compilations[0].source, empty_source);
  EXPECT_EQ(nvrtc.compilations[0].options[0], "--gpu-architecture=sm_90");
  EXPECT_EQ(nvrtc.compilations[1].options[0], "--gpu-architecture=sm_75");
  EXPECT_EQ(fake.launches.size(), 4u);
  EXPECT_THAT(world->host.works,
              ElementsAre("compiling kernels \"empty_kernel\" for device 0 (Fake H200)",
                          "compiling kernels \"empty_kernel\" for device 1 (Fake T4)"));
}

TEST_F(SourceModules, RunAsPtxOnALaterArchitecture) {
  nvrtc.architectures = {75, 80};

  ASSERT_TRUE(call().ok());

  EXPECT_EQ(nvrtc.compilations[0].options[0], "--gpu-architecture=compute_80");
  EXPECT_EQ(fake.launches.size(), 1u);
}

TEST_F(SourceModules, ReportThatNvrtcIsMissing) {
  world = std::make_unique<World>(
      World::fake_library(), std::map<std::string, std::string>{{"nvrtc", "/nowhere/nvrtc.so"}});

  const Status called = call();

  ASSERT_FALSE(called.ok());
  EXPECT_EQ(called.error().code, Code::unavailable);
  EXPECT_EQ(called.error().reason, "CUDA_SOURCE");
  EXPECT_THAT(
      called.error().message.text(),
      ::testing::StartsWith("NVRTC, which compiles CUDA C++ source, is missing, tried 1 name"
                            "\n    /nowhere/nvrtc.so: "));
  EXPECT_EQ(fake.count_of("cuModuleLoadDataEx"), 0u);
}

TEST_F(SourceModules, AreCompiledAgainAfterAFailure) {
  nvrtc.failing = {"nvrtcCompileProgram"};
  nvrtc.fail_result = 6;
  nvrtc.log = "kernels.cu(1): error: expected a \";\"\n";
  const Status failed = call();
  nvrtc.failing.clear();

  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().code, Code::unsupported);
  EXPECT_EQ(failed.error().message,
            "CUDA C++ source does not compile with NVRTC 12.9 for sm_90\n"
            "  kernels.cu(1): error: expected a \";\"");
  EXPECT_TRUE(call().ok());
}

TEST_F(SourceModules, NameSourceAndCodeThatTheDriverRefuses) {
  nvrtc.architectures = {75};
  nvrtc.ptx_version = "9.0";

  const Status called = call();

  ASSERT_FALSE(called.ok());
  EXPECT_EQ(called.error().reason, "PTX_VERSION");
  EXPECT_THAT(called.error().message.text(),
              ::testing::StartsWith("cuda: payload has CUDA C++ source, compiled to PTX 9.0 for "
                                    "sm_75, the driver of device 0 (Fake H200) is CUDA 12.4 and "
                                    "supports PTX up to 8.4; "));
}

TEST_F(SourceModules, NameAKernelThatTheirSourceDoesNotHave) {
  fake.fail_function = "cuModuleGetFunction";
  fake.fail_result = CUDA_ERROR_NOT_FOUND;

  const Status called = call();

  ASSERT_FALSE(called.ok());
  EXPECT_EQ(called.error().message,
            "kernel \"empty_kernel\" is in the payload's table, but not in its CUDA C++ source");
}

TEST_F(SourceModules, ReportAVerdictWithoutCompiling) {
  const auto verdict = [&](std::int32_t device) {
    const Bytes bytes = source_payload();
    gantry_blob blob{};
    blob.struct_size = sizeof blob;
    blob.flags = GANTRY_BLOB_EXACT;
    blob.data = bytes.data();
    blob.size = bytes.size();
    blob.argument_tags = GANTRY_ARGUMENT_TAGS_YES;
    std::int32_t found = -1;
    EXPECT_EQ(World::plugin_table().loaders[0]->check_binary(world->self(), &blob, device, &found,
                                                             nullptr),
              GANTRY_OK);
    return found;
  };
  EXPECT_EQ(verdict(0), GANTRY_VERDICT_RECOMPILE);
  EXPECT_TRUE(nvrtc.compilations.empty());

  // NVRTC was opened, so its architectures are known; a later one does not compile for the T4.
  nvrtc.architectures = {80};
  world = std::make_unique<World>(World::fake_library(),
                                  std::map<std::string, std::string>{{"nvrtc", GANTRY_FAKE_NVRTC}});
  EXPECT_EQ(verdict(1), GANTRY_VERDICT_NO);

  world = std::make_unique<World>(World::fake_library(),
                                  std::map<std::string, std::string>{{"nvrtc", "/nowhere"}});
  EXPECT_EQ(verdict(0), GANTRY_VERDICT_NO);
}

}  // namespace
}  // namespace gantry::cuda::test
