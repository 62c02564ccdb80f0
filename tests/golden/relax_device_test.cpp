// SPDX-License-Identifier: Apache-2.0
//
// Runs Relax executables that Apache TVM exported for devices, and compares with what TVM computed
// on the CPU.
#include "tests/golden/golden_array.hpp"
#include "tests/golden/played_script.hpp"

#ifdef GANTRY_FAKE_CUDA
#include "tests/unit/cuda/fake_driver.hpp"
#include "tests/unit/cuda/fake_nvrtc.hpp"
#endif

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace gantry {
namespace {

using test::golden;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr cli::Tolerance tolerance{1e-4, 1e-4};

cli::CallScript script_of(const std::string& name) {
  auto script = cli::read_call_script(golden("relax/" + name + ".json"));
  if (!script.ok()) ADD_FAILURE() << script.error().message;
  return std::move(script).value();
}

class OpenClScript : public ::testing::TestWithParam<const char*> {};

TEST_P(OpenClScript, PlaysWithinTheTolerance) {
  Runtime runtime = test::new_runtime();
  if (const auto device = runtime.device("opencl"); !device.ok())
    GTEST_SKIP() << device.error().message;
  const cli::CallScript script = script_of(concat(GetParam(), "_opencl"));

  EXPECT_EQ(script.expected_from, concat(GetParam(), "_llvm"));
  EXPECT_THAT(test::play(runtime, script, std::vector<std::string>{"opencl"}, tolerance),
              IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Golden, OpenClScript, ::testing::Values("cnn", "cnn_dyn"),
                         [](const auto& test) { return std::string(test.param); });

// Prefill, decode, fork and rollback of ten sequences in a KV cache whose pages and tables are on the
// device.
TEST(OpenClCache, HasTvmsLogitsOfTenSequences) {
  Runtime runtime = test::new_runtime();
  if (const auto device = runtime.device("opencl"); !device.ok())
    GTEST_SKIP() << device.error().message;

  EXPECT_THAT(test::play(runtime, script_of("lm_paged_opencl"), std::vector<std::string>{"opencl"},
                         tolerance),
              IsEmpty());
}

// Inputs of the stateful protocol are copied to the device.
TEST(OpenClStatefulCall, HasTvmsOutput) {
  Runtime runtime = test::new_runtime();
  const auto device = runtime.device("opencl");
  if (!device.ok()) GTEST_SKIP() << device.error().message;
  const auto model = runtime.load(golden("relax/cnn_opencl.so").string());
  ASSERT_TRUE(model.ok()) << model.error().message;
  const Module vm = (*model->function("vm_load_executable"))(*device)->module().value();
  const auto array = [&](std::string_view name) {
    return test::golden_array(runtime, "relax/cnn_llvm.npz", name);
  };

  ASSERT_TRUE((*vm.function("set_input"))("main", array("c0_a0")).ok());
  const auto run = (*vm.function("invoke_stateful"))("main");
  ASSERT_TRUE(run.ok()) << run.error().message;
  const Tensor output = (*vm.function("get_output"))("main")->tensor().value();

  EXPECT_EQ(output.dlpack()->device.type, device->type);
  const Tensor found = runtime.tensor(output.shape(), output.dtype()).value();
  ASSERT_TRUE(runtime.copy(output, found).ok());
  const Tensor expected = array("c0_r");
  ASSERT_EQ(found.elements<float>().size(), expected.elements<float>().size());
  for (std::size_t i = 0; i < found.elements<float>().size(); ++i)
    EXPECT_NEAR(found.elements<float>()[i], expected.elements<float>()[i], 1e-4);
}

#ifdef GANTRY_FAKE_CUDA

namespace fake = gantry::cuda::test;

// "axpy2_kernel: grid 1 1 1, block 64 1 1, 4 parameters"
std::string text_of(const fake::FakeLaunch& launch) {
  return concat(launch.kernel, ": grid ", join(launch.grid, " "), ", block ",
                join(launch.block, " "), ", ", launch.parameter_count, " parameters");
}

// Runs with the fake driver, whose kernels compute what those of the artifacts compute, from the
// parameters that the launch passes.
class FakeCuda : public ::testing::Test {
 protected:
  FakeCuda() {
    fake::fake_driver().reset();
    // The artifacts contain PTX 9.0.
    fake::fake_driver().version = 13000;
    configure(GANTRY_FAKE_NVRTC);
  }
  ~FakeCuda() override { EXPECT_EQ(fake::fake_driver().live(), ""); }

  void configure(std::string_view nvrtc) {
    test::write_file(temp_ / "runtime.yaml",
                     concat("backends: {gantry.cuda: {config: {library: ", GANTRY_FAKE_CUDA,
                            ", nvrtc: ", nvrtc, "}}}\ncache: ", (temp_ / "cache").native(), "\n"));
  }

  Runtime new_runtime() const {
    RuntimeOptions options = test::built_plugins_only();
    options.config_file = (temp_ / "runtime.yaml").string();
    return test::new_runtime(options);
  }
  // Plays the calls of a script from `first`, `count` of them.
  std::vector<std::string> play(cli::CallScript script, std::size_t first, std::size_t count) {
    const auto begin = script.calls.begin() + static_cast<std::ptrdiff_t>(first);
    script.calls = {begin, begin + static_cast<std::ptrdiff_t>(count)};
    return test::play(new_runtime(), script, std::vector<std::string>{"cuda"}, tolerance);
  }
  static std::vector<std::string> launches() {
    std::vector<std::string> lines;
    for (const fake::FakeLaunch& launch : fake::fake_driver().launches)
      lines.push_back(text_of(launch));
    return lines;
  }

 private:
  const test::TempDir temp_;
};

TEST_F(FakeCuda, RunsEveryKernelOfAModel) {
  EXPECT_THAT(play(script_of("cnn_cuda"), 0, 1), IsEmpty());

  EXPECT_THAT(launches(),
              ElementsAre("fused_conv2d_add_relu_kernel: grid 2 1 1, block 8 16 1, 4 parameters",
                          "max_pool2d_kernel: grid 1 1 1, block 1024 1 1, 2 parameters",
                          "fused_conv2d1_add1_relu1_kernel: grid 1 1 1, block 8 16 1, 4 parameters",
                          "max_pool2d1_kernel: grid 1 1 1, block 1024 1 1, 2 parameters",
                          "fused_matmul_add2_kernel: grid 1 1 1, block 10 16 1, 4 parameters",
                          "softmax_kernel: grid 1 1 1, block 256 1 1, 2 parameters"));
}

TEST_F(FakeCuda, PlaysTheWholeScript) {
  const cli::CallScript script = script_of("cnn_cuda");

  EXPECT_THAT(play(script, 0, script.calls.size()), IsEmpty());
}

// A batch of 7.
TEST_F(FakeCuda, PassesTheBatchToEveryKernel) {
  EXPECT_THAT(play(script_of("cnn_dyn_cuda"), 2, 1), IsEmpty());

  EXPECT_THAT(launches(),
              ElementsAre("fused_conv2d_add_relu_kernel: grid 14 1 1, block 8 16 1, 5 parameters",
                          "max_pool2d_kernel: grid 1 1 1, block 1024 1 1, 4 parameters",
                          "fused_conv2d1_add1_relu1_kernel: grid 4 1 1, block 8 16 1, 5 parameters",
                          "max_pool2d1_kernel: grid 1 1 1, block 1024 1 1, 4 parameters",
                          "fused_matmul_add2_kernel: grid 1 1 1, block 8 16 1, 5 parameters",
                          "softmax_kernel: grid 7 1 1, block 256 1 1, 3 parameters"));
}

TEST_F(FakeCuda, LaunchesNothingForAnEmptyBatch) {
  EXPECT_THAT(play(script_of("cnn_dyn_cuda"), 5, 1), IsEmpty());

  EXPECT_THAT(launches(), IsEmpty());
}

// Constants and storages of the executable remain on the device, until it goes.
TEST_F(FakeCuda, HasTheMemoryOfOneMachineAfterAThousand) {
  Runtime runtime = new_runtime();
  auto model = runtime.load(golden("relax/cnn_cuda.so").string());
  ASSERT_TRUE(model.ok()) << model.error().message;
  const gantry_device_id id = runtime.device("cuda").value();
  const gantry_device device = runtime.device_table(id).value();
  const auto allocated = [&] {
    gantry_value bytes{};
    EXPECT_EQ(device.table->attribute(device.self, id.index, GANTRY_ATTRIBUTE_ALLOCATED_BYTES,
                                      &bytes, nullptr),
              GANTRY_OK);
    return bytes.i;
  };
  const cli::CallScript script = script_of("cnn_cuda");
  const Tensor x =
      runtime.tensor(std::vector<std::int64_t>{1, 1, 8, 8}, {2, 32, 1}, "cuda").value();
  const std::int64_t before = allocated();
  const auto run_one = [&] {
    const Module vm = (*model->function("vm_load_executable"))(id)->module().value();
    const auto result = (*vm.function("main"))(x);
    ASSERT_TRUE(result.ok()) << result.error().message;
  };

  run_one();
  const std::int64_t after_first = allocated();
  fake::fake_driver().calls.clear();
  for (int i = 1; i < 1000; ++i) run_one();

  EXPECT_GT(after_first, before);
  EXPECT_EQ(allocated(), after_first);
  EXPECT_EQ(fake::fake_driver().count_of("cuMemAlloc_v2"), 0u);
  EXPECT_EQ(fake::fake_driver().count_of("cuMemcpyHtoDAsync_v2"), 0u);
  model = Module();
  EXPECT_EQ(allocated(), before);
}

// What TVM exports on a host without a GPU: the script of the same model with compiled kernels.
TEST_F(FakeCuda, CompilesSourceOnceAndRunsIt) {
  fake::fake_nvrtc().reset();
  cli::CallScript script = script_of("cnn_cuda");
  script.file = "cnn_cuda_source.so";

  EXPECT_THAT(play(script, 0, script.calls.size()), IsEmpty());
  EXPECT_THAT(play(script, 0, 1), IsEmpty());

  ASSERT_EQ(fake::fake_nvrtc().compilations.size(), 1u);
  EXPECT_EQ(fake::fake_nvrtc().compilations[0].source.size(), 242136u);
}

TEST_F(FakeCuda, ReportsThatNothingCompilesSource) {
  configure("/nowhere/libnvrtc.so");
  cli::CallScript script = script_of("cnn_cuda");
  script.file = "cnn_cuda_source.so";

  const std::vector<std::string> differences = play(script, 0, 1);

  ASSERT_EQ(differences.size(), 1u);
  EXPECT_THAT(
      differences[0],
      ::testing::HasSubstr("NVRTC, which compiles CUDA C++ source, is missing, tried 1 name\n"));
}

TEST_F(FakeCuda, PlaysTheWholeScriptWithEveryBatch) {
  const cli::CallScript script = script_of("cnn_dyn_cuda");

  EXPECT_THAT(play(script, 0, script.calls.size()), IsEmpty());
}

#endif

}  // namespace
}  // namespace gantry
