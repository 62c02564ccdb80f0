// SPDX-License-Identifier: Apache-2.0
//
// Runs of virtual machines through the C API.
#include "tests/unit/embed/digits_run.hpp"

#include <gmock/gmock.h>

namespace gantry {
namespace {

using test::expect_error;
using test::expect_ok;
using test::floats;
using test::new_run;
using ::testing::ElementsAreArray;

class EmbedMachine : public test::Embedded {
 protected:
  Value call(const ObjectRef& model, std::string_view function, const Value& input,
             std::uint64_t* copied = nullptr) const {
    gantry_run run = new_run();
    run.function = bytes_of(function);
    run.inputs = &input.get();
    run.input_count = 1;
    expect_ok(test::run(model, run));
    if (copied != nullptr) *copied = run.copied_bytes;
    return Value::adopt(run.result);
  }
};

TEST_F(EmbedMachine, UsesAnAlignedTensorInPlaceAndCopiesAnother) {
  const ObjectRef model = model_of("relax/cnn_dyn_llvm.so");
  const Value whole = golden_tensor("relax/cnn_dyn_llvm.npz", "c1_a0"),
              expected = golden_tensor("relax/cnn_dyn_llvm.npz", "c1_r");
  std::uint64_t copied = 1;

  const Value first = call(model, {}, whole, &copied);

  EXPECT_EQ(copied, 0u);
  EXPECT_THAT(floats(items_of(first.get())[0]).subspan(0, 20),
              ::testing::Pointwise(::testing::FloatNear(1e-5f), floats(expected.get())));
  // A borrowed tensor could be kept by the machine.
  gantry_tensor borrowed = *whole.tensor();
  const Value second = call(model, {}, Value::adopt(tensor_ref_value(&borrowed)), &copied);
  EXPECT_EQ(copied, 512u);
  EXPECT_THAT(floats(items_of(second.get())[0]),
              ElementsAreArray(floats(items_of(first.get())[0])));
}

// Code of v0.10 and later loads 64 bytes at once.
TEST_F(EmbedMachine, UsesTensorsInPlaceAtMultiplesOf64BytesOnly) {
  const ObjectRef model = model_of("relax/cnn_dyn_llvm.so");
  const Value whole = golden_tensor("relax/cnn_dyn_llvm.npz", "c1_a0"),
              expected = golden_tensor("relax/cnn_dyn_llvm.npz", "c1_r");
  alignas(128) std::uint8_t memory[512 + 128];

  for (const std::size_t at : {0, 4, 16, 32, 64, 96}) {
    gantry_tensor moved = *whole.tensor();
    moved.data = memory + at;
    std::memcpy(moved.data, whole.tensor()->data, 512);
    gantry_value input{};
    StatusBuffer status;
    ASSERT_EQ(embed().tensor_foreign(runtime.get(), &moved, 512, 0, nullptr, nullptr, &input,
                                     status.get()),
              GANTRY_OK);
    std::uint64_t copied = 1;

    const Value result = call(model, {}, Value::adopt(input), &copied);

    EXPECT_EQ(copied, at % 64 == 0 ? 0u : 512u) << at;
    EXPECT_THAT(floats(items_of(result.get())[0]).subspan(0, 20),
                ::testing::Pointwise(::testing::FloatNear(1e-5f), floats(expected.get())));
  }
}

TEST_F(EmbedMachine, ReturnsNoMemoryOfAnInput) {
  const ObjectRef model = model_of("relax/instr_copy10.so");
  const Value input = golden_tensor("relax/instr_copy10.npz", "c0_a0");

  const Value result = call(model, {}, input);

  const gantry_value& output = items_of(result.get())[0];
  EXPECT_NE(output.object, input.object());
  EXPECT_NE(gantry_value_tensor(&output)->data, input.tensor()->data);
  EXPECT_THAT(floats(output), ElementsAreArray(floats(input.get())));
}

TEST_F(EmbedMachine, ReturnsNoMemoryOfItsConstants) {
  const ObjectRef model = model_of("relax/tuples_llvm.so");
  const Value input = golden_tensor("relax/tuples_llvm.npz", "c5_a0"),
              expected = golden_tensor("relax/tuples_llvm.npz", "c5_r_1");
  const Value first = call(model, "const_ret", input);
  floats(items_of(first.get())[1])[0] = 1e9f;

  const Value second = call(model, "const_ret", input);

  EXPECT_THAT(floats(items_of(second.get())[1]), ElementsAreArray(floats(expected.get())));
}

TEST_F(EmbedMachine, ReturnsAnOutputThatIsListedTwiceAsTwoTensors) {
  const ObjectRef model = model_of("relax/tuples_llvm.so");
  const Value result = call(model, "dup", golden_tensor("relax/tuples_llvm.npz", "c6_a0"));
  const auto items = items_of(result.get());

  ASSERT_GE(items.size(), 2u);
  EXPECT_NE(gantry_value_tensor(&items[0])->data, gantry_value_tensor(&items[1])->data);
}

TEST_F(EmbedMachine, RefusesAShapeThatTheSignatureExcludes) {
  const ObjectRef model = model_of("relax/cnn_dyn_llvm.so");
  std::vector<float> memory(64);
  const std::int64_t shape[] = {1, 1, 64};
  gantry_tensor what = test::tensor_of(memory, shape);
  const gantry_value input = tensor_ref_value(&what);
  gantry_run run = new_run();
  run.inputs = &input;
  run.input_count = 1;

  expect_error(test::run(model, run), Code::invalid, "ARGUMENT_SHAPE",
               "input \"x\" of the model is float32[1, 1, 64], expected "
               "float32[n, 1, 8, 8]");
}

TEST_F(EmbedMachine, RefusesAnInputThatIsGivenTwice) {
  const ObjectRef model = model_of("relax/closure_llvm.so");
  const Value input = golden_tensor("relax/closure_llvm.npz", "c0_a0");
  const gantry_value inputs[] = {input.get(), input.get()};
  const gantry_bytes names[] = {gantry_text("0"), gantry_text("0")};
  gantry_run run = new_run();
  run.function = gantry_text("main");
  run.input_names = names;
  run.inputs = inputs;
  run.input_count = 2;

  const Status status = test::run(model, run);

  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().reason, "INPUT");
  EXPECT_THAT(status.error().message.text(), ::testing::HasSubstr("is given twice"));
}

TEST_F(EmbedMachine, ReportsAnErrorOfTheModel) {
  const ObjectRef model = model_of("relax/cnn_params_llvm.so");
  gantry_run run = new_run();

  const Status status = test::run(model, run);

  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().reason, "INPUT");
}

TEST_F(EmbedMachine, RefusesToFillATensorWithAValueThatIsNone) {
  const ObjectRef model = model_of("relax/closure_llvm.so");
  const Value input = golden_tensor("relax/closure_llvm.npz", "c1_a0");
  std::vector<float> memory(6);
  const std::int64_t shape[] = {2, 3};
  gantry_tensor target = test::tensor_of(memory, shape);
  gantry_value output = tensor_ref_value(&target);
  gantry_run run = new_run();
  run.function = gantry_text("get");
  run.inputs = &input.get();
  run.input_count = 1;
  run.outputs = &output;
  run.output_count = 1;

  const Status status = test::run(model, run);

  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().reason, "ARGUMENT_KIND");
}

}  // namespace
}  // namespace gantry
