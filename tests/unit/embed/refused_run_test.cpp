// SPDX-License-Identifier: Apache-2.0
//
// Runs that are refused: every output is unchanged.
#include "tests/unit/embed/digits_run.hpp"

#include <gmock/gmock.h>

#include <cstring>

namespace gantry {
namespace {

using test::expect_error;

class RefusedRun : public test::EmbedRun {
 protected:
  RefusedRun() {
    row = image(0);
    inputs[0] = inputs[1] = tensor_ref_value(&row);
    run.inputs = inputs;
    run.input_count = 1;
    run.outputs = &output;
    run.output_count = 1;
  }
  void expect_refused(std::string_view reason, std::string_view text, Code code = Code::invalid) {
    const gantry_value before = output;
    expect_error(test::run(model, run), code, reason, text);
    EXPECT_EQ(std::memcmp(&before, &output, sizeof before), 0);
    EXPECT_EQ(run.copied_bytes, 0u);
  }

  gantry_tensor row{};
  gantry_value inputs[2]{}, output{};
  gantry_run run = test::new_run();
};

TEST_F(RefusedRun, HasUnknownFlags) {
  run.flags = 8;
  expect_refused("FLAGS", "gantry_run: flags are 0x8, this version has 0x7", Code::unsupported);
}

TEST_F(RefusedRun, HasASizeThatIsNone) {
  run.struct_size = 4;
  expect_refused("STRUCT_SIZE", "gantry_run: struct_size is 4, range is 8 to 4096");
}

TEST_F(RefusedRun, NamesAnUnknownFunction) {
  run.function = gantry_text("absent");
  expect_refused("FUNCTION", "function \"absent\" of the model not found\n  default(x)",
                 Code::not_found);
}

TEST_F(RefusedRun, LacksAnInput) {
  run.input_count = 0;
  expect_refused("INPUT",
                 "input \"x\" of the model is missing\n  inputs of the model: x float32[1, 64]");
}

TEST_F(RefusedRun, HasAnInputTooMany) {
  run.input_count = 2;
  expect_refused("INPUT",
                 "the model has 1 inputs, 2 are given\n  inputs of the model: x float32[1, 64]");
}

TEST_F(RefusedRun, HasACountWithoutInputs) {
  run.inputs = nullptr;
  expect_refused("ARGUMENT_KIND", "run: inputs is NULL");
}

TEST_F(RefusedRun, NamesAnUnknownInput) {
  const gantry_bytes names[] = {gantry_text("y")};
  run.input_names = names;
  expect_refused("INPUT",
                 "input \"y\" of the model not found\n  inputs of the model: x float32[1, 64]");
}

TEST_F(RefusedRun, HasAnInputOfAnotherDtype) {
  row.dtype = dtypes::int32;
  expect_refused("ARGUMENT_DTYPE",
                 "input \"x\" of the model is int32[1, 64], expected float32[1, 64]");
}

TEST_F(RefusedRun, HasAnInputOfAnotherShape) {
  std::int64_t shape[] = {64, 1};
  row.shape = shape;
  expect_refused("ARGUMENT_SHAPE",
                 "input \"x\" of the model is float32[64, 1], expected float32[1, 64]");
}

TEST_F(RefusedRun, HasAnInputWithoutAShape) {
  row.ndim = -1;
  expect_refused("ARGUMENT_SHAPE",
                 "tensor rank is -1, minimum is 0\n  in input \"x\" of the model");
}

TEST_F(RefusedRun, HasAnInputWithStridesOnAnUnknownDevice) {
  std::int64_t strides[] = {64, 2};
  row.strides = strides;
  row.device = {2, 0};
  expect_refused("",
                 "device number 2 (cuda) not found; devices: cpu\n  while copying input \"x\" of "
                 "the model, which has strides",
                 Code::not_found);
}

TEST_F(RefusedRun, HasAnInputAtAddressZero) {
  row.data = nullptr;
  expect_refused("ARGUMENT", "input \"x\" of the model is at address 0");
}

TEST_F(RefusedRun, HasAnInputThatIsNoTensor) {
  inputs[0] = int_value(3);
  expect_refused("ARGUMENT_KIND", "input \"x\" of the model is an integer, expected a tensor");
  inputs[0] = tensor_ref_value(nullptr);
  expect_refused("ARGUMENT_KIND", "input \"x\" of the model is NULL, expected a tensor");
  inputs[0].kind = GANTRY_TENSOR;
  expect_refused("ARGUMENT_KIND", "input \"x\" of the model is NULL, expected a tensor");
}

TEST_F(RefusedRun, HasTooFewElementsForTheOutputs) {
  run.output_count = 0;
  expect_refused("OUTPUT_COUNT", "the model has 1 outputs, `outputs` has 0 elements");
}

TEST_F(RefusedRun, HasAnElementThatIsNoTensor) {
  output = int_value(1);
  expect_refused("ARGUMENT_KIND", "element 0 of outputs is an integer, expected none or a tensor");
  output = tensor_ref_value(nullptr);
  expect_refused("ARGUMENT_KIND", "element 0 of outputs is NULL, expected none or a tensor");
}

TEST_F(RefusedRun, HasATargetOfAnotherType) {
  std::vector<float> memory(10);
  const std::int64_t shape[] = {10}, whole[] = {1, 10};
  gantry_tensor target = test::tensor_of(memory, shape);
  output = tensor_ref_value(&target);
  expect_refused("ARGUMENT_SHAPE",
                 "the tensor for output \"output\" of the model is float32[10], expected "
                 "float32[1, 10]");
  target = test::tensor_of(memory, whole, dtypes::int32);
  expect_refused("ARGUMENT_DTYPE",
                 "the tensor for output \"output\" of the model is int32[1, 10], expected "
                 "float32[1, 10]");
}

TEST_F(RefusedRun, HasAResultOnEntry) {
  run.outputs = nullptr;
  run.result = int_value(4);
  expect_refused("ARGUMENT_KIND", "run: result is an integer on entry, expected none");
}

}  // namespace
}  // namespace gantry
