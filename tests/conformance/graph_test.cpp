// SPDX-License-Identifier: Apache-2.0
//
// Graphs on devices: inputs and outputs on any device, zero copy, recordings, and a graph on two
// devices.
#include "core/writing/pack.hpp"
#include "tests/conformance/ext_dev_models.hpp"
#include "tests/support/files.hpp"
#include "under_test.hpp"

#include <gmock/gmock.h>

namespace gantry::conformance {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// y = max(x + 2 w, 0) of sdk/example/model, on an accelerator whose memory is handles.
class DeviceGraph : public ::testing::Test {
 protected:
  DeviceGraph() : runtime(make_runtime().value()) {
    model = runtime.load(path_of(devices[1])).value();
  }

  Tensor vector(const std::string& device, float value) {
    const std::int64_t shape[] = {100};
    Tensor host = runtime.tensor(shape, {2, 32, 1}).value();
    for (float& element : host.elements<float>()) element = value;
    if (device == "cpu") return host;
    Tensor there = runtime.tensor(shape, {2, 32, 1}, device).value();
    EXPECT_TRUE(runtime.copy(host, there).ok());
    return there;
  }
  float last_of(const Tensor& tensor) {
    Tensor host = runtime.tensor(tensor.shape(), tensor.dtype()).value();
    EXPECT_TRUE(runtime.copy(tensor, host).ok());
    return host.elements<float>().back();
  }
  Executor make(const std::string& device, std::string_view factory = "default") {
    auto made = Executor::create(runtime, model, {device}, factory);
    EXPECT_TRUE(made.ok()) << made.error().message;
    return std::move(made).value();
  }
  // Sets the inputs, runs the graph and returns the last element of the output.
  float run(Executor& executor, float x, float w) {
    EXPECT_TRUE(executor.set_input("x", vector("cpu", x)).ok());
    EXPECT_TRUE(executor.set_input("w", vector("cpu", w)).ok());
    return run(executor);
  }
  float run(Executor& executor) {
    const Status ran = executor.run();
    EXPECT_TRUE(ran.ok()) << ran.error().message;
    return last_of(executor.output(0).value());
  }
  Function function(const Executor& executor, std::string_view name) {
    return executor.module().function(name).value();
  }

  Runtime runtime;
  Module model;
};

TEST_F(DeviceGraph, RunsOnTheSelectedDevice) {
  for (const char* device : {"abacus:0", "abacus:1"}) {
    Executor executor = make(device);

    EXPECT_EQ(run(executor, 3, 4), 11) << device;
    EXPECT_EQ(run(executor, 3, -4), 0) << device;
    EXPECT_TRUE(same_device(executor.output(0)->device(), runtime.device(device).value()))
        << device;
  }
}

TEST_F(DeviceGraph, AcceptsInputsAndOutputsOnEveryDevice) {
  Executor executor = make("abacus:0");
  for (const char* device : {"cpu", "abacus:0", "abacus:1", "soroban:0"}) {
    ASSERT_TRUE(executor.set_input("x", vector(device, 1)).ok()) << device;
    ASSERT_TRUE(executor.set_input("w", vector(device, 5)).ok()) << device;
    ASSERT_TRUE(executor.run().ok());
    const Tensor out = vector(device, -1);

    const auto copied = function(executor, "get_output")(std::int64_t{0}, out);

    ASSERT_TRUE(copied.ok()) << device << ": " << copied.error().message;
    EXPECT_EQ(last_of(out), 11) << device;
  }
}

TEST_F(DeviceGraph, UsesTheCallersMemoryOnItsDevice) {
  Executor executor = make("abacus:1");
  const Tensor x = vector("abacus:1", 1), w = vector("abacus:1", 2), y = vector("abacus:1", -1);
  ASSERT_TRUE(function(executor, "set_input_zero_copy")("x", x).ok());
  ASSERT_TRUE(function(executor, "set_input_zero_copy")("w", w).ok());
  ASSERT_TRUE(function(executor, "set_output_zero_copy")(std::int64_t{0}, y).ok());

  ASSERT_TRUE(executor.run().ok());
  EXPECT_EQ(last_of(y), 5);
  ASSERT_TRUE(runtime.copy(vector("cpu", 10), x).ok());
  ASSERT_TRUE(executor.run().ok());
  EXPECT_EQ(last_of(y), 14);
}

TEST_F(DeviceGraph, RefusesZeroCopyOfAnotherDeviceAndOfAnOffset) {
  Executor executor = make("abacus:1");
  const std::int64_t shape[] = {2, 100};
  const Tensor rows = runtime.tensor(shape, {2, 32, 1}, "abacus:1").value();

  const auto elsewhere = function(executor, "set_input_zero_copy")("x", vector("abacus:0", 1));
  const auto within = function(executor, "set_input_zero_copy")("x", rows.row(1).value());

  ASSERT_FALSE(elsewhere.ok());
  EXPECT_EQ(elsewhere.error().code, Code::invalid);
  EXPECT_EQ(elsewhere.error().reason, "ZERO_COPY");
  const std::string type = concat(runtime.device("abacus").value().type);
  EXPECT_THAT(elsewhere.error().message,
              StartsWith("tensor is on device " + type + ":0, expected device " + type + ":1"));
  ASSERT_FALSE(within.ok());
  EXPECT_EQ(within.error().reason, "ZERO_COPY");
  EXPECT_THAT(within.error().message,
              StartsWith("tensor begins 400 bytes into its memory, expected 0"));
}

// The first run is plain, the second is recorded, later ones are replayed. set_input writes to the
// recorded memory.
TEST_F(DeviceGraph, RecordsItsSecondRunAndReplaysIt) {
  Executor executor = make("abacus:0", "cuda_graph_create");
  for (int k = 0; k < 5; ++k) {
    EXPECT_EQ(run(executor, static_cast<float>(k), 1), static_cast<float>(k) + 2) << k;
  }
}

TEST_F(DeviceGraph, RecordsAgainAfterABindingHasChanged) {
  Executor executor = make("abacus:0", "cuda_graph_create");
  for (int k = 0; k < 3; ++k) EXPECT_EQ(run(executor, 1, 1), 3);
  const Tensor x = vector("abacus:0", 20), y = vector("abacus:0", -1);

  ASSERT_TRUE(function(executor, "set_input_zero_copy")("x", x).ok());
  EXPECT_EQ(run(executor), 22);
  ASSERT_TRUE(function(executor, "set_output_zero_copy")(std::int64_t{0}, y).ok());
  ASSERT_TRUE(executor.run().ok());
  EXPECT_EQ(last_of(y), 22);
  ASSERT_TRUE(runtime.copy(vector("cpu", 30), x).ok());
  ASSERT_TRUE(executor.run().ok());
  EXPECT_EQ(last_of(y), 32) << "the recording reads the previous memory";
}

// Each call of an operator adds a span of category "op".
TEST_F(DeviceGraph, ReplaysWithoutCallingItsOperators) {
  runtime = make_runtime(true).value();
  model = runtime.load(path_of(devices[1])).value();
  const auto operators = [&] {
    const std::string trace = runtime.trace_json().value();
    int count = 0;
    for (std::size_t at = trace.find("\"op\""); at != std::string::npos;
         at = trace.find("\"op\"", at + 1))
      ++count;
    return count;
  };
  Executor executor = make("abacus:0", "cuda_graph_create");
  ASSERT_EQ(run(executor, 1, 1), 3);
  ASSERT_EQ(run(executor, 1, 1), 3);
  const int recorded = operators();

  for (int k = 0; k < 3; ++k) EXPECT_EQ(run(executor, 2, 1), 4);

  EXPECT_EQ(recorded, 4) << "two operators, in a plain and in a recorded run";
  EXPECT_EQ(operators(), recorded);
}

TEST_F(DeviceGraph, IsNotRecordedByADeviceThatCannot) {
  const Module digits = runtime.load(test::golden("tvm-0.12/digits_mlp_llvm.so").string()).value();

  const auto made = Executor::create(runtime, digits, {"cpu"}, "cuda_graph_create");

  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, Code::unsupported);
  EXPECT_EQ(made.error().message,
            "cpu: capture is not supported\n"
            "  in cuda_graph_create; \"default\" runs the same model without recording\n"
            "  while making an executor with \"cuda_graph_create\"");
}

TEST_F(DeviceGraph, FreesItsMemory) {
  const gantry_device device = runtime.device_table(runtime.device("abacus").value()).value();
  const auto alive = [&] {
    gantry_value value{};
    EXPECT_EQ(device.table->attribute(device.self, 0, 1000, &value, nullptr), GANTRY_OK);
    return value.i;
  };
  const auto cycle = [&](std::string_view factory) {
    Executor executor = make("abacus:0", factory);
    for (int k = 0; k < 3; ++k) EXPECT_EQ(run(executor, 1, 1), 3);
  };
  cycle("default");
  const std::int64_t before = alive();

  for (int k = 0; k < 20; ++k) cycle(k % 2 == 0 ? "default" : "cuda_graph_create");

  EXPECT_EQ(alive(), before);
}

class SpreadGraph : public DeviceGraph {
 protected:
  SpreadGraph() {
    const auto recipe = read_recipe(test::write_spread_model(directory.path()));
    EXPECT_TRUE(recipe.ok()) << recipe.error().message;
    const auto packed = pack(*recipe, directory / "spread.so");
    EXPECT_TRUE(packed.ok()) << packed.error().message;
    model = runtime.load((directory / "spread.so").string()).value();
  }
  test::TempDir directory;
};

TEST_F(SpreadGraph, RunsOnAllItsDevices) {
  auto made = Executor::create(runtime, model, {"abacus:1", "cpu"});
  ASSERT_TRUE(made.ok()) << made.error().message;

  for (int k = 0; k < 10; ++k) {
    EXPECT_EQ(run(*made, static_cast<float>(k), 10), (static_cast<float>(k) + 20) / 2) << k;
  }
}

TEST_F(SpreadGraph, RunsInTheCallersStreamOnItsDevice) {
  auto made = Executor::create(runtime, model, {"abacus:1", "cpu"});
  ASSERT_TRUE(made.ok()) << made.error().message;
  const gantry_device device = runtime.device_table(runtime.device("abacus").value()).value();
  const TestStream stream(device, 1);
  const gantry_env env{{device.id.type, 1}, stream.get(), nullptr, nullptr};
  ASSERT_EQ(run(*made, 1, 1), 1.5f);

  for (int k = 0; k < 10; ++k) {
    ASSERT_TRUE(made->set_input("x", vector("cpu", static_cast<float>(k))).ok());
    const auto ran = function(*made, "run").call({}, &env);
    ASSERT_TRUE(ran.ok()) << ran.error().message;
    ASSERT_EQ(device.table->synchronize(device.self, 1, stream.get(), nullptr), GANTRY_OK);
    EXPECT_EQ(last_of(made->output(0).value()), (static_cast<float>(k) + 2) / 2) << k;
  }
}

TEST_F(SpreadGraph, RequiresEachOfItsDevices) {
  const auto made = Executor::create(runtime, model, {"abacus:1"});

  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, Code::invalid);
  EXPECT_EQ(made.error().reason, "DEVICE");
  EXPECT_THAT(made.error().message, HasSubstr("graph requires a device \"cpu\" for entry 3"));
}

TEST_F(SpreadGraph, IsNotRecorded) {
  const auto made = Executor::create(runtime, model, {"abacus:1", "cpu"}, "cuda_graph_create");

  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, Code::unsupported);
  EXPECT_EQ(made.error().reason, "CAPTURE");
  const std::string type = concat(runtime.device("abacus").value().type);
  EXPECT_THAT(
      made.error().message,
      StartsWith("node 3 \"down\" works on device 1:0, what is recorded must all be on one, "
                 "and the first is on device " +
                 type + ":1"));
}

}  // namespace
}  // namespace gantry::conformance
