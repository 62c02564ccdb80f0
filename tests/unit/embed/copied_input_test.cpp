// SPDX-License-Identifier: Apache-2.0
//
// Inputs of runs of the C API that are used where they are, copied, or refused.
#include "tests/unit/embed/digits_run.hpp"

#include <gmock/gmock.h>

#include <algorithm>

namespace gantry {
namespace {

using test::EmbedRun;
using test::expect_error;
using test::expect_ok;
using test::floats;
using test::new_run;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

class EmbedCopiedInput : public EmbedRun {
 protected:
  // Image `index` at an address that is a multiple of 128, or 4 bytes after it.
  gantry_tensor image_at(std::size_t index, bool is_aligned) {
    float* const to = memory_ + (is_aligned ? 0 : 1);
    const gantry_tensor row = image(index);
    std::copy_n(static_cast<const float*>(row.data), 64, to);
    gantry_tensor moved = row;
    moved.data = to;
    return moved;
  }
  Status run_image(const ObjectRef& with, gantry_tensor tensor, std::uint32_t flags = 0) {
    const gantry_value input = tensor_ref_value(&tensor);
    gantry_value output{};
    gantry_run run = new_run();
    run.flags = flags;
    run.inputs = &input;
    run.input_count = 1;
    run.outputs = &output;
    run.output_count = 1;
    Status status = test::run(with, run);
    output_ = Value::adopt(output);
    copied_ = run.copied_bytes;
    return status;
  }

  alignas(128) float memory_[128]{};
  Value output_;
  std::uint64_t copied_ = 0;
};

TEST_F(EmbedCopiedInput, OfAGraphIsUsedWhereItIsIfItIsAligned) {
  expect_ok(run_image(model, image_at(4, true), GANTRY_RUN_NO_COPY));

  EXPECT_EQ(copied_, 0u);
  expect_near(floats(output_.get()), scores(4));
}

TEST_F(EmbedCopiedInput, OfAGraphIsCopiedIfItIsNotAligned) {
  expect_ok(run_image(model, image_at(4, false)));

  EXPECT_EQ(copied_, 256u);
  expect_near(floats(output_.get()), scores(4));
}

// The executor must not write to memory of an earlier run.
TEST_F(EmbedCopiedInput, IsNotWrittenByLaterRuns) {
  const gantry_tensor first = image_at(1, true);
  expect_ok(run_image(model, first));
  const std::vector<float> before(memory_, memory_ + 64);
  std::vector<float> other(65);
  std::copy_n(static_cast<const float*>(image(2).data), 64, other.data() + 1);
  gantry_tensor second = image(2);
  second.data = other.data() + 1;

  expect_ok(run_image(model, second));

  EXPECT_EQ(copied_, 256u);
  expect_near(floats(output_.get()), scores(2));
  EXPECT_THAT(std::vector<float>(memory_, memory_ + 64), ElementsAreArray(before));
  expect_ok(run_image(model, first));
  EXPECT_EQ(copied_, 0u);
  expect_near(floats(output_.get()), scores(1));
}

TEST_F(EmbedCopiedInput, OfCodeThatIsCompiledAheadOfTimeIsUsedWhereItIs) {
  const ObjectRef aot = model_of("tvm-0.12/digits_mlp_aot_llvm.so");

  expect_ok(run_image(aot, image_at(6, true), GANTRY_RUN_NO_COPY));
  EXPECT_EQ(copied_, 0u);
  expect_near(floats(output_.get()), scores(6));
  expect_ok(run_image(aot, image_at(6, false)));

  EXPECT_EQ(copied_, 256u);
  expect_near(floats(output_.get()), scores(6));
}

TEST_F(EmbedCopiedInput, IsRefusedIfCopiesAreNotAllowed) {
  const Status status = run_image(model, image_at(4, false), GANTRY_RUN_NO_COPY);

  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, Code::invalid);
  EXPECT_EQ(status.error().reason, "COPY_REQUIRED");
  EXPECT_THAT(status.error().message,
              HasSubstr("input \"x\" of the model must be copied, float32[1, 64] at 0x"));
}

TEST_F(EmbedCopiedInput, WithStridesIsRefusedIfCopiesAreNotAllowed) {
  const std::int64_t strides[] = {64, 2};
  gantry_tensor tensor = image_at(4, true);
  tensor.strides = const_cast<std::int64_t*>(strides);

  EXPECT_EQ(run_image(model, tensor, GANTRY_RUN_NO_COPY).error().reason, "COPY_REQUIRED");
  expect_ok(run_image(model, tensor));
  EXPECT_GE(copied_, 256u);
}

TEST_F(EmbedCopiedInput, OfAVirtualMachineIsRefusedIfCopiesAreNotAllowed) {
  const ObjectRef machine = model_of("relax/instr_copy10.so");
  const Value kept = golden_tensor("relax/instr_copy10.npz", "c0_a0");
  gantry_tensor tensor = *kept.tensor();

  // A borrowed tensor could be kept by the machine.
  const Status status = run_image(machine, tensor, GANTRY_RUN_NO_COPY);

  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().reason, "COPY_REQUIRED");
}

}  // namespace
}  // namespace gantry
