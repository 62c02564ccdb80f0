// SPDX-License-Identifier: Apache-2.0
//
// An executable as a model of gantry.model/1.
#include "plugins/relay_vm/module.hpp"
#include "tests/support/model_calls.hpp"
#include "tests/unit/relay_vm/fixture.hpp"

#include <thread>

namespace gantry::relay::test {
namespace {

using gantry::test::ExecutorCalls;
using gantry::test::ModelCalls;
using gantry::test::parameter_texts;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;

class RelayModel : public MachineTest {
 protected:
  ~RelayModel() override {
    model.reset();
    module.reset();
  }

  void load() {
    read();
    module = std::make_unique<ExecutableModule>(Host(fake.table()), loaded);
    model = std::make_unique<ModelCalls<ExecutableModule>>(*module);
  }
  void load_sum() {
    add_main(code);
    load();
  }
  std::unique_ptr<ExecutorCalls> executor(std::vector<gantry_device_id> devices = {cpu}) const {
    return model->executor(devices).value();
  }
  std::vector<std::int32_t> device_types() const {
    const gantry_model_info info = model->info().value();
    return {info.device_types, info.device_types + info.device_count};
  }
  // main(x, y) of code for the CPU and device 4: x is on device 4.
  void load_for_two() {
    const std::int64_t field = code.device(4);
    code.function("main", {"x", "y"}, 3);
    code.functions[0].param_devices = {field, 0};
    code.device_copy(0, field, 0, 2);
    code.ret(2);
    load();
  }

  std::unique_ptr<ExecutableModule> module;
  std::unique_ptr<ModelCalls<ExecutableModule>> model;
};

// ---- functions, devices and signatures

TEST_F(RelayModel, HasTheFunctionsOfTheCode) {
  code.function("first", {}, 1);
  code.load_integer(1, 0);
  code.ret(0);
  add_main(code);
  load();

  const gantry_model_info info = model->info().value();

  EXPECT_THAT(model->functions(), ElementsAre("first", "main"));
  EXPECT_EQ(info.default_function, 1u);
  EXPECT_EQ(info.flags, 0u);
}

TEST_F(RelayModel, HasNoDefaultWithoutMain) {
  code.function("other", {"x"}, 1);
  code.ret(0);
  load();

  EXPECT_EQ(model->info().value().default_function, GANTRY_NO_FUNCTION);
}

TEST_F(RelayModel, StatesTheNamesOfInputsAlone) {
  load_sum();

  const gantry_signature& signature = model->signature(0);

  EXPECT_THAT(parameter_texts(signature.inputs, signature.input_count),
              ElementsAre("x kind 0", "y kind 0"));
  EXPECT_EQ(signature.flags, 0u);
  EXPECT_EQ(signature.outputs, nullptr);
  EXPECT_EQ(&model->signature(0), &signature);
}

TEST_F(RelayModel, StatesTheCpuIfTheCodeHasNoOtherDevice) {
  load_sum();

  EXPECT_THAT(device_types(), ElementsAre(cpu.type));
}

TEST_F(RelayModel, StatesOtherDevicesWithoutTheCpuOfItsHost) {
  load_for_two();

  EXPECT_THAT(device_types(), ElementsAre(handles.type));
}

TEST_F(RelayModel, StatesDevicesByTheNumbersOfTheRuntime) {
  code.device(12);
  fake.device_numbers = {{12, handles.type}};
  load_sum();

  EXPECT_THAT(device_types(), ElementsAre(handles.type));
}

TEST_F(RelayModel, IsDescribedToAllThreadsAlike) {
  load_for_two();
  struct Seen {
    const std::int32_t* devices = nullptr;
    const gantry_signature* signature = nullptr;
    bool operator==(const Seen&) const = default;
  };
  std::vector<Seen> seen(4);

  {
    std::vector<std::jthread> threads;
    for (Seen& own : seen) {
      threads.emplace_back([&own, this] {
        own = {model->info().value().device_types, &model->signature(0)};
      });
    }
  }

  for (const Seen& own : seen) EXPECT_EQ(own, seen[0]);
}

// ---- executors

TEST_F(RelayModel, TakesInputsOnTheDevicesOfTheirParameters) {
  load_for_two();
  const auto own = executor({handles, cpu});

  const ExecutorCalls::Placed placed = own->placements(0).value();

  EXPECT_EQ(placed.inputs[0].device.type, handles.type);
  EXPECT_EQ(placed.inputs[1].device.type, cpu.type);
  for (const int i : {0, 1}) {
    EXPECT_EQ(placed.inputs[i].alignment, 128u);
    EXPECT_EQ(placed.inputs[i].flags, 0u);
    EXPECT_EQ(placed.inputs[i].own, nullptr);
  }
  EXPECT_EQ(placed.outputs, nullptr);
}

TEST_F(RelayModel, ReadsPlacedInputsInPlace) {
  load_sum();
  const auto own = executor();
  const Value x = floats({1, 2}), y = floats({10, 20});
  const std::size_t before = fake.copies.size();

  const auto all = items(own->run(0, {x, y}).value());

  ASSERT_EQ(all.size(), 1u);
  EXPECT_THAT(elements(all[0]), ElementsAre(11, 22));
  EXPECT_EQ(fake.copies.size(), before);
}

// The host passes tensors by reference: the executor keeps none.
TEST_F(RelayModel, ReturnsAnInputByReferenceAsACopy) {
  code.function("main", {"x"}, 1);
  code.ret(0);
  load();
  const Value x = floats({1, 2});

  const auto all = items(executor()->run(0, {Value::adopt(tensor_ref_value(x.tensor()))}).value());

  ASSERT_EQ(all.size(), 1u);
  EXPECT_NE(all[0].tensor()->data, x.tensor()->data);
  EXPECT_THAT(elements(all[0]), ElementsAre(1, 2));
}

TEST_F(RelayModel, ReturnsTheItemsOfNestedTuples) {
  code.function("main", {"x", "y"}, 4);
  code.alloc_data(0, {0, 1}, 2);
  code.alloc_data(0, {2, 0}, 3);
  code.ret(3);
  load();

  const auto all = items(executor()->run(0, {floats({1}), floats({2})}).value());

  ASSERT_EQ(all.size(), 3u);
  EXPECT_THAT(elements(all[0]), ElementsAre(1));
  EXPECT_THAT(elements(all[1]), ElementsAre(2));
  EXPECT_THAT(elements(all[2]), ElementsAre(1));
}

TEST_F(RelayModel, KeepsResultsApartFromLaterRuns) {
  load_sum();
  const auto first = executor(), second = executor();
  const Value x = floats({1, 2}), y = floats({10, 20});

  const auto a = items(first->run(0, {x, x}).value());
  const auto b = items(second->run(0, {x, y}).value());
  const auto c = items(first->run(0, {y, y}).value());
  const auto d = items(second->run(0, {y, x}).value());

  EXPECT_THAT(elements(a[0]), ElementsAre(2, 4));
  EXPECT_THAT(elements(b[0]), ElementsAre(11, 22));
  EXPECT_THAT(elements(c[0]), ElementsAre(20, 40));
  EXPECT_THAT(elements(d[0]), ElementsAre(11, 22));
}

TEST_F(RelayModel, KeepsNoInputOfARun) {
  load_sum();
  const auto own = executor();
  const Value x = floats({1, 2});

  (void)own->run(0, {x, x}).value();

  EXPECT_EQ(fake.references(x.object()), 1);
}

TEST_F(RelayModel, RunsAfterAFailure) {
  load_sum();
  const auto own = executor();
  const Value x = floats({1, 2});

  const auto failed = own->run(0, {x, Value::adopt(int_value(3))});
  const auto all = items(own->run(0, {x, x}).value());

  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().reason, "ARGUMENT_KIND");
  EXPECT_EQ(text(failed.error()),
            "value is an integer, expected a tensor or arrays of tensors, nested 256 times\n"
            "  in parameter \"y\"\n"
            "  in function \"main\"");
  EXPECT_THAT(elements(all[0]), ElementsAre(2, 4));
}

TEST_F(RelayModel, RefusesToBeRecorded) {
  load_sum();

  const auto made = model->executor({cpu}, GANTRY_EXECUTOR_CAPTURE);

  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, Code::unsupported);
  EXPECT_EQ(made.error().reason, "CAPTURE");
  EXPECT_EQ(text(made.error()),
            "the model is a virtual machine, only graphs can be recorded (capture)");
  EXPECT_TRUE(model->executor({cpu}, GANTRY_EXECUTOR_PREPARE).ok());
}

TEST_F(RelayModel, RefusesDevicesThatTheCodeIsNotMadeFor) {
  load_sum();

  const auto made = model->executor({handles});

  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().reason, "DEVICE");
  EXPECT_THAT(text(made.error()), HasSubstr("the code is made for cpu:0, the devices of the "
                                            "machine are "));
  EXPECT_THAT(text(made.error()), EndsWith("\n  while making a virtual machine"));
}

}  // namespace
}  // namespace gantry::relay::test
