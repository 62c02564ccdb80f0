// SPDX-License-Identifier: Apache-2.0
//
// Runs of models of the C API.
#include "tests/unit/embed/digits_run.hpp"

#include <gmock/gmock.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <thread>

namespace gantry {
namespace {

using test::done;
using test::embed;
using test::EmbedRun;
using test::expect_ok;
using test::floats;
using test::new_run;

TEST_F(EmbedRun, ComputesWhatTvmComputed) {
  for (std::size_t i = 0; i < 360; ++i) {
    const Value found = score(i);
    ASSERT_EQ(found.kind(), GANTRY_TENSOR);
    expect_near(floats(found.get()), scores(i));
  }
}

TEST_F(EmbedRun, TakesInputsByName) {
  gantry_tensor row = image(3);
  const gantry_value input = tensor_ref_value(&row);
  const gantry_bytes names[] = {gantry_text("x")};
  gantry_value output{};
  gantry_run run = new_run();
  run.function = gantry_text("default");
  run.input_names = names;
  run.inputs = &input;
  run.input_count = 1;
  run.outputs = &output;
  run.output_count = 1;

  expect_ok(test::run(model, run));

  const Value owned = Value::adopt(output);
  expect_near(floats(output), scores(3));
  EXPECT_EQ(run.output_count, 1u);
  EXPECT_EQ(run.struct_size, sizeof run);
}

// Runs the model with the image at an address that is `offset` bytes past a multiple of 128.
class InputMemory : public EmbedRun {
 protected:
  std::uint64_t copied_bytes(std::size_t i, std::size_t offset) {
    std::memcpy(memory + offset, image(i).data, 256);
    gantry_tensor row = image(i);
    row.data = memory + offset;
    const gantry_value input = tensor_ref_value(&row);
    gantry_value output{};
    gantry_run run = new_run(input, output);
    expect_ok(test::run(model, run));
    const Value owned = Value::adopt(output);
    expect_near(floats(output), scores(i));
    // The next run must not read this memory.
    std::memset(memory + offset, 0xff, 256);
    return run.copied_bytes;
  }
  alignas(128) char memory[512];
};

TEST_F(InputMemory, IsUsedInPlaceIfItIsAligned) {
  EXPECT_EQ(copied_bytes(3, 0), 0u);
  EXPECT_EQ(copied_bytes(4, 128), 0u);
}

TEST_F(InputMemory, IsCopiedIfItIsNotAligned) {
  EXPECT_EQ(copied_bytes(3, 64), 256u);
  EXPECT_EQ(copied_bytes(4, 0), 0u);
  EXPECT_EQ(copied_bytes(5, 4), 256u);
  EXPECT_EQ(copied_bytes(6, 192), 256u);
}

TEST_F(EmbedRun, KeepsNoInput) {
  gantry_tensor row = image(3);
  bool is_destroyed = false;
  const auto destroy = [](void* self) { *static_cast<bool*>(self) = true; };
  gantry_value input{}, output{};
  StatusBuffer status;
  ASSERT_EQ(embed().tensor_foreign(runtime.get(), &row, 256, 0, &is_destroyed, destroy, &input,
                                   status.get()),
            GANTRY_OK);

  expect_ok(run_with(input, output));
  const Value owned = Value::adopt(output);
  gantry_release(input.object);

  EXPECT_TRUE(is_destroyed);
}

TEST_F(EmbedRun, ReturnsResultsThatNoLaterRunWrites) {
  const Value first = score(0);

  const Value second = score(1);

  EXPECT_NE(first.tensor()->data, second.tensor()->data);
  expect_near(floats(first.get()), scores(0));
  expect_near(floats(second.get()), scores(1));
}

TEST_F(EmbedRun, FillsATensorOfTheCaller) {
  std::vector<float> memory(10);
  const std::int64_t shape[] = {1, 10};
  gantry_tensor target = test::tensor_of(memory, shape), row = image(5);
  gantry_value output = tensor_ref_value(&target);

  expect_ok(run_with(tensor_ref_value(&row), output));

  EXPECT_EQ(output.kind, GANTRY_TENSOR_REF);
  EXPECT_EQ(output.tensor, &target);
  expect_near(memory, scores(5));
}

TEST_F(EmbedRun, ReturnsAllOutputsAsAnArray) {
  gantry_tensor row = image(7);
  const gantry_value input = tensor_ref_value(&row);
  gantry_run run = new_run();
  run.inputs = &input;
  run.input_count = 1;

  expect_ok(test::run(model, run));

  const Value owned = Value::adopt(run.result);
  EXPECT_EQ(run.output_count, 1u);
  const auto items = items_of(run.result);
  ASSERT_EQ(items.size(), 1u);
  expect_near(floats(items[0]), scores(7));
}

TEST_F(EmbedRun, LeavesElementsAfterTheLastOutput) {
  gantry_tensor row = image(0);
  const gantry_value input = tensor_ref_value(&row);
  gantry_value outputs[2]{};
  outputs[1].kind = GANTRY_INT;
  gantry_run run = new_run();
  run.inputs = &input;
  run.input_count = 1;
  run.outputs = outputs;
  run.output_count = 2;

  expect_ok(test::run(model, run));

  const Value owned = Value::adopt(outputs[0]);
  EXPECT_EQ(run.output_count, 1u);
  EXPECT_EQ(outputs[1].kind, GANTRY_INT);
}

// The model must not keep an input: the next run may be hours away.
TEST_F(EmbedRun, ReleasesItsInputs) {
  int destroyed = 0;
  for (const char* file : {"tvm-0.12/digits_mlp_llvm.so", "relax/instr_copy10.so"}) {
    destroyed = 0;
    const ObjectRef other = model_of(file);
    const bool is_graph = std::strcmp(file, "relax/instr_copy10.so") != 0;
    std::vector<float> memory(64);
    const std::vector<std::int64_t> shape =
        is_graph ? std::vector<std::int64_t>{1, 64} : std::vector<std::int64_t>{1};
    const gantry_tensor what = test::tensor_of(memory, shape);
    gantry_value input{}, output{};
    expect_ok(done([&](gantry_status* status) {
      return embed().tensor_foreign(
          runtime.get(), &what, 256, 0, &destroyed, [](void* self) { ++*static_cast<int*>(self); },
          &input, status);
    }));
    Value kept = Value::adopt(input);
    gantry_run run = new_run(input, output);
    expect_ok(test::run(other, run));
    const Value owned = Value::adopt(output);

    kept = Value();

    EXPECT_EQ(destroyed, 1) << file;
  }
}

TEST_F(EmbedRun, IsDoneByManyThreads) {
  gantry_model_options options{};
  options.struct_size = sizeof options;
  options.executors = 2;
  model = model_of("tvm-0.12/digits_mlp_llvm.so", &options);
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (std::size_t t = 0; t < 6; ++t) {
    threads.emplace_back([&, t] {
      for (std::size_t i = t; i < 360; i += 6) {
        gantry_tensor row = image(i);
        gantry_value output{};
        if (!run_with(tensor_ref_value(&row), output).ok()) {
          ++wrong;
          continue;
        }
        const Value owned = Value::adopt(output);
        for (std::size_t k = 0; k < 10; ++k)
          wrong += std::abs(floats(output)[k] - scores(i)[k]) > 1e-6f * std::abs(scores(i)[k]);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace gantry
