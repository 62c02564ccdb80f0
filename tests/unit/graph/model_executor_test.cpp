// SPDX-License-Identifier: Apache-2.0
//
// A graph as a model: its signature, and runs by position.
#include "plugins/graph/model_executor.hpp"

#include "tests/unit/graph/model.hpp"

#include <gmock/gmock.h>

#include <list>
#include <memory>
#include <vector>

namespace gantry::graph {
namespace {

using gantry::test::small_graph;
using test::Floats;
using test::replaced;
using test::small_p0;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class GraphModel : public test::Model {
 protected:
  // An executor of a graph, run by position.
  struct Made {
    std::shared_ptr<Factory> factory;
    std::unique_ptr<ModelExecutor> executor;

    Status run(std::vector<gantry_value> inputs, std::vector<gantry_value>& outputs) {
      gantry_executor_run raw{};
      raw.struct_size = sizeof raw;
      raw.inputs = inputs.data();
      raw.input_count = static_cast<std::uint32_t>(inputs.size());
      raw.outputs = outputs.data();
      raw.output_count = static_cast<std::uint32_t>(outputs.size());
      ExecutorRun run(raw);
      return executor->run({gantry::test::cpu, nullptr, nullptr, nullptr}, run);
    }
  };

  std::unique_ptr<Factory> factory(const std::string& graph) {
    const auto& bytes = payloads_.emplace_back(test::payload_bytes(graph, {small_p0}));
    const gantry_blob raw =
        gantry::test::payload_blob({bytes.data(), bytes.size()}, -1, true, nullptr);
    Blob blob(raw, fake.node());
    auto payload = read_payload(blob);
    EXPECT_TRUE(payload.ok());
    return std::make_unique<Factory>(Source{host, fake.node(), *payload});
  }
  Made made(const std::string& graph = small_graph) { return made_by(factory(graph)); }
  Made made_by(std::shared_ptr<Factory> factory) {
    Made all{std::move(factory), nullptr};
    const gantry_device_id devices[] = {gantry::test::cpu};
    auto executor = all.factory->executor_new({gantry::test::cpu, nullptr, nullptr, nullptr},
                                              {.devices = devices});
    EXPECT_TRUE(executor.ok()) << (executor.ok() ? "" : std::string(executor.error().message));
    all.executor = *std::move(executor);
    return all;
  }

 private:
  // their bytes stay where they are
  std::list<std::vector<std::uint8_t>> payloads_;
};

TEST_F(GraphModel, StatesItsInputsWithoutParameters) {
  const auto made = factory(small_graph);

  const Signature* const signature = made->signature(0).value();

  ASSERT_EQ(signature->inputs().size(), 1u);
  EXPECT_EQ(signature->inputs()[0].name, "x");
  EXPECT_EQ(signature->inputs()[0].type_text, "float32[2, 2]");
  ASSERT_TRUE(signature->outputs());
  EXPECT_EQ(signature->outputs()->size(), 1u);
}

TEST_F(GraphModel, HasOneFunctionWithTheNameOfItsModule) {
  const auto made = factory(small_graph);

  const ModelInfo* const info = made->model_info().value();

  EXPECT_THAT(info->functions, ElementsAre("default"));
  EXPECT_EQ(info->default_function, 0u);
}

TEST_F(GraphModel, StatesTheDevicesOfItsValues) {
  const auto stated = factory(replaced(small_graph, "[1,1,1,1]", "[4,1,1,4]"));
  const auto without = factory(small_graph);

  EXPECT_THAT(stated->model_info().value()->device_types, ElementsAre(1, 4));
  EXPECT_THAT(without->model_info().value()->device_types, ElementsAre(1));
}

TEST_F(GraphModel, StatesAlternativesInTheirOrder) {
  const auto made = factory(replaced(small_graph, "\"device_index\":[\"list_int\",[1,1,1,1]]",
                                     "\"gantry_devices\":[\"list_int\",[4,1]]"));

  const ModelInfo* const info = made->model_info().value();

  EXPECT_THAT(info->device_types, ElementsAre(4, 1));
  EXPECT_EQ(info->flags, std::uint32_t{GANTRY_MODEL_ALTERNATIVES});
  EXPECT_EQ(factory(small_graph)->model_info().value()->flags, 0u);
}

TEST_F(GraphModel, ReadsInputsAndFillsOutputsInPlace) {
  Made model = made();
  Floats x({2, 2}, {1, 2, 3, 4}), y({4});
  std::vector<gantry_value> outputs{y.value()};

  ASSERT_TRUE(model.run({x.value()}, outputs).ok());

  EXPECT_THAT(y.values(), ElementsAre(11, 22, 33, 44));
}

// The payload has no pin, so that parameters are not used in place.
TEST_F(GraphModel, HasParametersOnADeviceOnceForAllItsExecutors) {
  Made first = made();
  const std::size_t of_one = fake.allocations.size();

  Made second = made_by(first.factory);

  EXPECT_EQ(fake.allocations.size(), 2 * of_one - 1) << "all but p0";
  first.executor.reset();
  Floats x({2, 2}, {1, 2, 3, 4}), y({4});
  std::vector<gantry_value> outputs{y.value()};
  ASSERT_TRUE(second.run({x.value()}, outputs).ok());
  EXPECT_THAT(y.values(), ElementsAre(11, 22, 33, 44));
}

TEST(UploadedConstants, AreOthersForAnotherSizeOrDevice) {
  UploadedConstants uploaded;
  const int data = 0;
  int uploads = 0;
  const auto get = [&](std::uint64_t bytes, std::int32_t index) {
    return uploaded
        .get(&data, bytes, {4, index},
             [&]() -> Result<Value> { return Value::adopt(int_value(++uploads)); })
        .value();
  };
  const auto first = get(4, 0);

  EXPECT_EQ(get(4, 0), first);
  EXPECT_NE(get(16, 0), first);
  EXPECT_NE(get(4, 1), first);
  EXPECT_EQ(uploads, 3);
}

TEST_F(GraphModel, UploadsParametersAgainAfterItsLastExecutor) {
  Made model = made();
  const std::size_t of_one = fake.allocations.size();
  model.executor.reset();

  const Made next = made_by(model.factory);

  EXPECT_EQ(fake.allocations.size(), 2 * of_one);
}

TEST_F(GraphModel, ReportsAParameterThatHasNoMemory) {
  fake.failing_allocations = 1;
  const gantry_device_id devices[] = {gantry::test::cpu};
  const auto model = factory(small_graph);
  const gantry_env env{gantry::test::cpu, nullptr, nullptr, nullptr};

  const auto failed = model->executor_new(env, {.devices = devices});
  const auto again = model->executor_new(env, {.devices = devices});

  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().code, Code::exhausted);
  EXPECT_THAT(failed.error().message, HasSubstr("while copying parameter \"p0\""));
  EXPECT_TRUE(again.ok());
}

TEST_F(GraphModel, ReturnsItsOwnMemoryWithoutATarget) {
  Made model = made();
  Floats x({2, 2}, {1, 2, 3, 4}), y({4}), next({2, 2}, {0, 0, 0, 0});
  std::vector<gantry_value> filled{y.value()}, first(1), second(1);

  ASSERT_TRUE(model.run({x.value()}, filled).ok());
  ASSERT_TRUE(model.run({x.value()}, first).ok());
  const Value one = Value::adopt(first[0]);
  const std::vector<float> values = test::floats_of(*one.tensor());
  ASSERT_TRUE(model.run({next.value()}, second).ok());
  const Value two = Value::adopt(second[0]);

  EXPECT_THAT(values, ElementsAre(11, 22, 33, 44));
  EXPECT_EQ(one.tensor()->data, two.tensor()->data);
  EXPECT_THAT(test::floats_of(*two.tensor()), ElementsAre(10, 20, 30, 40));
  EXPECT_THAT(y.values(), ElementsAre(11, 22, 33, 44));
}

TEST_F(GraphModel, PlacesInputsInMemoryOfItsOwnIfItWantsTo) {
  Made model = made();

  const Placements* const placed = model.executor->placements(0).value();

  ASSERT_EQ(placed->inputs.size(), 1u);
  EXPECT_EQ(placed->inputs[0].alignment, 128u);
  EXPECT_EQ(placed->inputs[0].flags, 0u);
  ASSERT_NE(placed->inputs[0].own, nullptr);
  ASSERT_EQ(placed->outputs.size(), 1u);
  EXPECT_EQ(placed->outputs[0].flags, std::uint32_t{GANTRY_PLACEMENT_REUSED});
}

TEST_F(GraphModel, WorksAgainAfterARunThatFails) {
  bool fails = true;
  fake.add_function("add",
                    [&](const gantry_env*, std::span<const gantry_value> args, gantry_value*,
                        gantry_status* status) -> gantry_code {
                      if (fails) return gantry_fail(status, GANTRY_INVALID, "TEST", "no");
                      static_cast<float*>(args[2].tensor->data)[0] = 7;
                      return GANTRY_OK;
                    });
  Made model = made();
  Floats x({2, 2}, {1, 2, 3, 4}), y({4});
  std::vector<gantry_value> outputs{y.value()};

  const Status failed = model.run({x.value()}, outputs);
  fails = false;
  const Status done = model.run({x.value()}, outputs);

  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().message, "no\n  in node 2 \"add\"");
  EXPECT_TRUE(done.ok());
  EXPECT_EQ(y.values()[0], 7);
}

// Operators write no input, so that it is copied to the output's memory.
TEST_F(GraphModel, CopiesAnOutputThatIsAnInput) {
  Made model = made(replaced(small_graph, "\"heads\":[[3,0,0]]", "\"heads\":[[0,0,0]]"));
  Floats x({2, 2}, {1, 2, 3, 4}), y({2, 2});
  std::vector<gantry_value> filled{y.value()}, made(1);

  ASSERT_TRUE(model.run({x.value()}, filled).ok());
  ASSERT_TRUE(model.run({x.value()}, made).ok());
  const Value copy = Value::adopt(made[0]);

  EXPECT_EQ(model.executor->placements(0).value()->inputs[0].flags,
            std::uint32_t{GANTRY_PLACEMENT_OWN_ONLY});
  EXPECT_THAT(y.values(), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(test::floats_of(*copy.tensor()), ElementsAre(1, 2, 3, 4));
}

TEST_F(GraphModel, FillsAnOutputThatIsListedTwice) {
  Made model = made(replaced(small_graph, "\"heads\":[[3,0,0]]", "\"heads\":[[3,0,0],[2,0,0]]"));
  Floats x({2, 2}, {1, 2, 3, 4}), y({4}), z({2, 2});
  std::vector<gantry_value> outputs{y.value(), z.value()};

  ASSERT_TRUE(model.run({x.value()}, outputs).ok());

  EXPECT_THAT(y.values(), ElementsAre(11, 22, 33, 44));
  EXPECT_THAT(z.values(), ElementsAre(11, 22, 33, 44));
}

}  // namespace
}  // namespace gantry::graph
