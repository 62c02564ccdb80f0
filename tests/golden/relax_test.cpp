// SPDX-License-Identifier: Apache-2.0
//
// Compares Relax executables that Apache TVM exported with the outputs that TVM computed.
#include "tests/golden/golden_array.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <ostream>
#include <string>
#include <thread>
#include <vector>

namespace gantry {
namespace {

using test::golden;

class RelaxRun : public ::testing::Test {
 protected:
  Tensor array(const std::string& file, std::string_view member) {
    return test::golden_array(runtime, file, member);
  }
  Module load(const std::string& file) {
    auto loaded = runtime.load(golden(file).string());
    EXPECT_TRUE(loaded.ok()) << loaded.error().message;
    return *loaded;
  }
  static Module machine(const Module& model, gantry_device_id device) {
    auto made = (*model.function("vm_load_executable"))(device);
    EXPECT_TRUE(made.ok()) << made.error().message;
    return made->module().value();
  }
  static double largest_difference(const Tensor& a, const Tensor& b) {
    if (a.shape().size() != b.shape().size() || a.byte_size() != b.byte_size()) return INFINITY;
    return test::largest_difference(a.elements<float>(), b.elements<float>());
  }

  Runtime runtime = test::new_runtime();
};

struct NamedFile {
  // below the golden files, without ".so"
  std::string name;
  friend void PrintTo(const NamedFile& file, std::ostream* out) { *out << file.name; }
};

class RelaxModel : public RelaxRun, public ::testing::WithParamInterface<NamedFile> {};

TEST_P(RelaxModel, HasTvmsOutputBitForBit) {
  const std::string file = GetParam().name;
  const Module vm = machine(load(file + ".so"), {1, 0});

  const auto output = (*vm.function("main"))(array(file + ".npz", "c0_a0"));

  ASSERT_TRUE(output.ok()) << output.error().message;
  EXPECT_EQ(largest_difference(output->tensor().value(), array(file + ".npz", "c0_r")), 0);
}

INSTANTIATE_TEST_SUITE_P(
    Golden, RelaxModel,
    ::testing::Values(NamedFile{"relax/cnn_llvm"}, NamedFile{"relax/cnn_c"},
                      NamedFile{"relax/cnn_fused_llvm"}, NamedFile{"relax/cnn_compiled_llvm"},
                      NamedFile{"relax/cnn_dyn_llvm"}, NamedFile{"relax/resnet14_llvm"},
                      NamedFile{"relax/mlp_dyn_llvm"}, NamedFile{"relax/mlp_dyn_compiled_llvm"},
                      NamedFile{"relax/upper_bound_llvm"}, NamedFile{"relax/chain10_llvm"},
                      NamedFile{"relax/chain1000_llvm"}, NamedFile{"relax/v25_cnn_llvm"},
                      NamedFile{"relax/v25_cnn_compiled_llvm"}, NamedFile{"relax/v26_cnn_llvm"},
                      NamedFile{"relax/v26_cnn_compiled_llvm"}));

TEST_F(RelaxRun, UsesOneExecutableOnManyThreads) {
  const Module model = load("relax/cnn_llvm.so");
  const Tensor x = array("relax/cnn_llvm.npz", "c0_a0"), y = array("relax/cnn_llvm.npz", "c0_r");
  std::vector<double> differences(8, INFINITY);
  std::vector<std::thread> threads;
  for (double& difference : differences) {
    threads.emplace_back([&] {
      const Module vm = machine(model, {1, 0});
      const Function main = vm.function("main").value();
      double largest = 0;
      for (int i = 0; i < 20; ++i)
        largest = std::max(largest, largest_difference(main(x)->tensor().value(), y));
      difference = largest;
    });
  }
  for (std::thread& thread : threads) thread.join();

  EXPECT_THAT(differences, ::testing::Each(0.0));
}

TEST_F(RelaxRun, ReportsACheckOfTheFunctionWithItsKind) {
  const Module vm = machine(load("relax/mlp_dyn_llvm.so"), {1, 0});

  const auto output = (*vm.function("main"))(array("relax/mlp_dyn_llvm.npz", "c4_a0"));

  ASSERT_FALSE(output.ok());
  EXPECT_EQ(raised(output.error())->kind, "RuntimeError");
  EXPECT_THAT(output.error().message,
              ::testing::StartsWith(
                  "ErrorContext(fn=main, loc=param[0], param=x, annotation=R.Tensor((n, 32), "
                  "dtype=\"float32\")) match_cast error, shape[1] mismatch to specified constant: "
                  "found 33, expected 32\n  in instruction "));
}

TEST_F(RelaxRun, LimitsTheMemoryOfIntermediateResults) {
  const test::TempDir directory;
  test::write_file(directory / "runtime.yaml",
                   "backends: {gantry.relax: {config: {memory_limit_mib: 1}}}\n");
  RuntimeOptions limited = test::built_plugins_only();
  limited.config_file = (directory / "runtime.yaml").string();
  runtime = test::new_runtime(limited);
  const Module vm = machine(load("relax/cnn_dyn_llvm.so"), {1, 0});
  const Function main = vm.function("main").value();

  const auto large = main(runtime.tensor({1024, 1, 8, 8}, {2, 32, 1}).value());
  const auto small = main(runtime.tensor({16, 1, 8, 8}, {2, 32, 1}).value());

  ASSERT_FALSE(large.ok());
  EXPECT_EQ(large.error().reason, "MEMORY_LIMIT");
  // 8 channels
  EXPECT_THAT(large.error().message, ::testing::StartsWith("storage of 2.0 MiB (2097152 bytes) on "
                                                           "cpu:0, where executables hold "));
  EXPECT_TRUE(small.ok()) << small.error().message;
}

TEST_F(RelaxRun, RequiresDevicesFirst) {
  const Module model = load("relax/cnn_llvm.so");
  const Module vm = (*model.function("vm_load_executable"))()->module().value();
  const Function main = vm.function("main").value();
  const Tensor x = array("relax/cnn_llvm.npz", "c0_a0");

  const auto early = main(x);
  ASSERT_FALSE(early.ok());
  EXPECT_EQ(early.error().reason, "VM_STATE");
  ASSERT_TRUE((*vm.function("vm_initialization"))(1, 0, 2).ok());
  EXPECT_TRUE(main(x).ok());
}

TEST_F(RelaxRun, ListsTheFunctionsThatAreMissing) {
  const Module model = load("relax/strings_extern_llvm.so");

  const auto vm = (*model.function("vm_load_executable"))(gantry_device_id{1, 0});

  ASSERT_FALSE(vm.ok());
  EXPECT_EQ(vm.error().reason, "FUNCTIONS_MISSING");
  EXPECT_THAT(vm.error().message, ::testing::StartsWith("the executable requires \"test.fmt\", "));
}

class Weights : public RelaxRun {
 protected:
  Function function(const std::string& name) const {
    return runtime.function("vm.builtin." + name).value();
  }
  const std::string mix = golden("relax/weights_mix.weights").string();
};

// As the page of the plugin shows it.
TEST_F(Weights, AreParametersOfALanguageModel) {
  ASSERT_TRUE(function("tensor_cache.load")(golden("relax/lm_paged.weights").string(), 1, 0).ok());
  const Any params = function("param_array_from_cache")("param", -1).value();
  const Module vm = machine(load("relax/lm_paged_llvm.so"), {1, 0});

  const auto output = (*vm.function("embed"))(array("relax/lm_paged_weights.npz", "c8_a0"), params);

  ASSERT_TRUE(output.ok()) << output.error().message;
  EXPECT_EQ(
      largest_difference(output->tensor().value(), array("relax/lm_paged_weights.npz", "c8_r")), 0);
}

TEST_F(Weights, AreTheResultOfAModule) {
  ASSERT_TRUE(
      function("tensor_cache.load")(golden("relax/weights_old.weights").string(), 1, 0).ok());

  const auto made = function("param_module_from_cache")("param", -1);

  ASSERT_TRUE(made.ok()) << made.error().message;
  const Module module = made->module().value();
  EXPECT_EQ(module.type_key().value(), "param_module");
  EXPECT_EQ((*module.function("get_params"))()->items()->size(), 3u);
}

TEST_F(Weights, AreOneCacheForEachRuntime) {
  ASSERT_TRUE(function("tensor_cache.load")(mix, 1, 0).ok());
  const Runtime other = test::new_runtime();

  EXPECT_FALSE(function("tensor_cache.get")("fc1.weight")->is_none());
  EXPECT_TRUE((*other.function("vm.builtin.tensor_cache.get"))("fc1.weight")->is_none());
}

TEST_F(Weights, AreNotLoadedOnADeviceThatIsAbsent) {
  const auto loaded = function("tensor_cache.load")(mix, 2, 7);

  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(raised(loaded.error())->kind, "InternalError");
  EXPECT_TRUE(function("tensor_cache.get")("fc1.weight")->is_none());
}

TEST_F(Weights, AreLoadedAndReadOnManyThreads) {
  const Function load_all = function("tensor_cache.load"), get = function("tensor_cache.get"),
                 clear = function("tensor_cache.clear");
  std::vector<int> found(4, 0);
  std::vector<std::thread> threads;
  for (int& count : found) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) {
        if (!load_all(mix, 1, 0).ok()) return;
        const Any bias = get("out.bias").value();
        // Another thread may have cleared the cache.
        count += bias.is_none() || bias.tensor()->shape()[0] == 10;
        if (i % 5 == 4 && !clear().ok()) return;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();

  EXPECT_THAT(found, ::testing::Each(20));
}

}  // namespace
}  // namespace gantry
