// SPDX-License-Identifier: Apache-2.0
//
// Compares a Relay executable that Apache TVM exported with the outputs that TVM computed, and
// assembled executables over TVM's kernels with its graphs.
#include "tests/golden/golden_array.hpp"
#include "tests/support/files.hpp"
#include "tests/support/relay_artifact.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace gantry {
namespace {

using test::golden;
using ::testing::ElementsAre;

constexpr char digits[] = "tvm-0.12/digits_mlp_vm_llvm.so";

class RelayRun : public ::testing::Test {
 protected:
  Tensor array(const std::string& file, std::string_view member) {
    return test::golden_array(runtime, file, member);
  }
  Module load(const std::string& file) {
    auto loaded = runtime.load(file);
    EXPECT_TRUE(loaded.ok()) << loaded.error().message;
    return *loaded;
  }
  static Module machine(const Module& model) {
    auto made = (*model.function("vm_load_executable"))(gantry_device_id{1, 0});
    EXPECT_TRUE(made.ok()) << made.error().message;
    return made->module().value();
  }
  static bool is_equal(const Tensor& found, const Tensor& expected) {
    return found.byte_size() == expected.byte_size() &&
           std::memcmp(found.data(), expected.data(), found.byte_size()) == 0;
  }

  Runtime runtime = test::new_runtime();
  test::TempDir temp;
};

TEST_F(RelayRun, HasTvmsOutputsBitForBit) {
  const Module vm = machine(load(golden(digits).string()));
  const Function main = vm.function("main").value();
  const Tensor inputs = array("tvm-0.12/digits_mlp.input.npz", "x");
  const Tensor expected = array("tvm-0.12/digits_mlp_llvm.expected.npz", "output");

  for (std::int64_t i = 0; i < inputs.shape()[0]; ++i) {
    const auto output = main(*inputs.row(i));
    ASSERT_TRUE(output.ok()) << output.error().message;
    EXPECT_TRUE(is_equal(output->tensor().value(), *expected.row(i))) << i;
  }
}

TEST_F(RelayRun, UsesOneExecutableOnManyThreads) {
  const Module model = load(golden(digits).string());
  const Tensor inputs = array("tvm-0.12/digits_mlp.input.npz", "x");
  const Tensor expected = array("tvm-0.12/digits_mlp_llvm.expected.npz", "output");
  std::vector<int> equal(8, 0);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < equal.size(); ++t) {
    threads.emplace_back([&, t] {
      const Module vm = machine(model);
      const Function main = vm.function("main").value();
      for (std::int64_t i = 0; i < 20; ++i) {
        const auto row = static_cast<std::int64_t>(t) * 20 + i;
        const auto output = main(*inputs.row(row));
        if (output.ok() && is_equal(output->tensor().value(), *expected.row(row))) ++equal[t];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();

  EXPECT_THAT(equal, ::testing::Each(20));
}

// The protocol of TVM's own machine.
TEST_F(RelayRun, HasTheFunctionsOfTvmsMachine) {
  const Module model = load(golden(digits).string());
  const Module vm = (*model.function("vm_load_executable"))()->module().value();
  const auto call = [&](const char* name, const auto&... args) {
    auto result = (*vm.function(name))(args...);
    EXPECT_TRUE(result.ok()) << name << ": " << result.error().message;
    return *result;
  };
  const Tensor x = array("tvm-0.12/digits_mlp.input.npz", "x").row(7).value();
  const Tensor expected = array("tvm-0.12/digits_mlp_llvm.expected.npz", "output").row(7).value();

  call("init", 1, 0, 2);
  call("set_input", "main", x);
  EXPECT_TRUE(is_equal(call("invoke", "main").tensor().value(), expected));
  call("set_one_input", "main", "x", x);
  call("invoke_stateful", "main");
  EXPECT_EQ(call("get_num_outputs").integer().value(), 1);
  EXPECT_TRUE(is_equal(call("get_output", 0).tensor().value(), expected));
  EXPECT_EQ(call("get_input_index", "x", "main").integer().value(), 0);
  EXPECT_EQ(call("get_input_index", "y", "main").integer().value(), -1);
  EXPECT_TRUE(
      is_equal(call("invoke_return_to_device", "main", 1, 0, x).tensor().value(), expected));
}

TEST_F(RelayRun, RunsTheCodeOfAGraphWithTheSameOutputs) {
  for (const char* const model : {"digits_mlp", "resnet20"}) {
    const std::string name = std::string("tvm-0.12/") + model;
    const std::string file = (temp / (std::string(model) + ".so")).string();
    const Status written = test::write_relay_artifact_of_graph(golden(name + "_llvm.so"), file, 1);
    ASSERT_TRUE(written.ok()) << written.error().message;
    const Function main = machine(load(file)).function("main").value();
    const bool is_digits = std::string_view(model) == "digits_mlp";
    const Tensor inputs = array(name + ".input.npz", is_digits ? "x" : "data");
    const Tensor expected = array(name + "_llvm.expected.npz", "output");

    for (std::int64_t i = 0; i < 4; ++i) {
      const auto output = main(*inputs.row(i));
      ASSERT_TRUE(output.ok()) << output.error().message;
      EXPECT_TRUE(is_equal(output->tensor().value(), *expected.row(i))) << model << ' ' << i;
    }
  }
}

TEST_F(RelayRun, ListsTheFunctionsThatItsLibraryLacks) {
  const std::string file = (temp / "lost.so").string();
  const Status written =
      test::write_relay_artifact(golden("tvm-0.12/digits_mlp_llvm.so"), file,
                                 [](const Container&) -> Result<test::RelayAssembler> {
                                   test::RelayAssembler code;
                                   code.packed("lost");
                                   code.function("main", {}, 1);
                                   code.fatal();
                                   return code;
                                 });
  ASSERT_TRUE(written.ok()) << written.error().message;
  const Module model = load(file);

  const auto vm = (*model.function("vm_load_executable"))(gantry_device_id{1, 0});

  ASSERT_FALSE(vm.ok());
  EXPECT_EQ(vm.error().reason, "FUNCTIONS_MISSING");
}

TEST_F(RelayRun, LimitsTheMemoryOfIntermediateResults) {
  const std::string file = (temp / "storages.so").string();
  const Status written =
      test::write_relay_artifact(golden("tvm-0.12/digits_mlp_llvm.so"), file,
                                 [](const Container&) -> Result<test::RelayAssembler> {
                                   test::RelayAssembler code;
                                   for (const std::int64_t mib : {1, 2}) {
                                     code.function(mib == 1 ? "small" : "large", {}, 6);
                                     code.tensor(dtypes::int8, {mib << 20}, mib << 20, 2, 5);
                                     code.ret(5);
                                   }
                                   return code;
                                 });
  ASSERT_TRUE(written.ok()) << written.error().message;
  test::write_file(temp / "runtime.yaml",
                   "backends: {gantry.relay-vm: {config: {memory_limit_mib: 1}}}\n");
  RuntimeOptions limited = test::built_plugins_only();
  limited.config_file = (temp / "runtime.yaml").string();
  runtime = test::new_runtime(std::move(limited));
  const Module vm = machine(load(file));

  const auto large = (*vm.function("large"))();
  const auto small = (*vm.function("small"))();

  ASSERT_FALSE(large.ok());
  EXPECT_EQ(large.error().reason, "MEMORY_LIMIT");
  EXPECT_THAT(large.error().message,
              ::testing::StartsWith("storage of 2.0 MiB (2097152 bytes) on cpu:0, where "
                                    "executables hold 0 bytes and the limit is 1.0 MiB"));
  EXPECT_TRUE(small.ok()) << small.error().message;
}

TEST_F(RelayRun, HasALibraryWithItsKernels) {
  const Module model = load(golden(digits).string());

  const Module library = (*model.function("get_lib"))()->module().value();

  EXPECT_TRUE(library.function("vm_mod_fused_nn_softmax").ok());
  EXPECT_FALSE(library.function("lost").ok());
}

}  // namespace
}  // namespace gantry
