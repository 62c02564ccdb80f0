// SPDX-License-Identifier: Apache-2.0
#include "plugins/relax/captures.hpp"

#include "tests/unit/relax/machine.hpp"

#include <gantry/dtype_text.hpp>

#include <gmock/gmock.h>

#include <new>

namespace gantry::relax::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// main(x, n) runs work(x, n), which calls "step", as entry 3 of a CUDA graph.
class RecordedWork : public VmTest {
 protected:
  RecordedWork() {
    fake.add_function(
        "step",
        [this](const gantry_env* env, std::span<const gantry_value> args, gantry_value* result,
               gantry_status* status) -> gantry_code {
          fake.device_calls.push_back(concat("step ", env->stream == nullptr ? "default" : "own"));
          if (step_throws) throw std::bad_alloc();
          if (step_fails) return gantry_fail(status, GANTRY_UNAVAILABLE, "DRIVER", "it is gone");
          *result = int_value(++steps * 100 + value_int(args[1]).value_or(0));
          return GANTRY_OK;
        });
    const auto step = code.packed("step");
    const auto tuple = code.packed("vm.builtin.make_tuple");
    const auto run_or_capture = code.packed("vm.builtin.cuda_graph.run_or_capture");
    const auto storage = code.packed("vm.builtin.alloc_storage");
    const auto allocate = code.packed("vm.builtin.cuda_graph.get_cached_alloc");
    const auto work = code.function("work", {"x", "n"}, 3);
    code.call(2, storage,
              {relax_register(relax_vm), code.shape({100}), relax_immediate(0),
               code.dtype(dtypes::uint8), code.text("global")});
    code.call(2, step, {relax_register(0), relax_register(1)});
    code.ret(2);
    code.function("main", {"x", "n"}, 3);
    code.call(2, tuple, {relax_register(0), relax_register(1)});
    code.call(
        2, run_or_capture,
        {relax_register(relax_vm), relax_function(work), relax_register(2), relax_immediate(3)});
    code.ret(2);
    code.function("other", {"x", "n"}, 3);
    code.call(2, tuple, {relax_register(0), relax_register(1)});
    code.call(
        2, run_or_capture,
        {relax_register(relax_vm), relax_function(step), relax_register(2), relax_immediate(3)});
    code.ret(2);
    const auto shaped_work = code.function("shaped_work", {"x", "shape"}, 3);
    code.call(2, storage,
              {relax_register(relax_vm), code.shape({100}), relax_immediate(0),
               code.dtype(dtypes::uint8), code.text("global")});
    code.call(2, step, {relax_register(0), relax_register(1)});
    code.ret(2);
    code.function("shaped", {"x", "shape"}, 3);
    code.call(2, tuple, {relax_register(0)});
    code.call(2, run_or_capture,
              {relax_register(relax_vm), relax_function(shaped_work), relax_register(2),
               relax_immediate(3), relax_register(1)});
    code.ret(2);
    const auto make = code.function("make", {}, 1);
    code.call(0, storage,
              {relax_register(relax_vm), code.shape({100}), relax_immediate(0),
               code.dtype(dtypes::uint8), code.text("global")});
    code.ret(0);
    code.function("cached", {"entry"}, 2);
    code.call(1, allocate, {relax_register(relax_vm), relax_function(make), relax_register(0)});
    code.ret(1);
  }
  void start_on(gantry_device_id device) {
    const gantry_device_id devices[] = {device};
    start(devices);
    fake.device_calls.clear();
  }
  // The device's calls during one run.
  std::vector<std::string> calls_of(std::string_view name, const Value& x, gantry_value n) {
    fake.device_calls.clear();
    auto result = run(name, {x.get(), n});
    ran = result.ok();
    number_of_result = result.ok() ? value_int(result->get()).value_or(-1) : -1;
    return fake.device_calls;
  }
  std::vector<std::string> calls(const Value& x, std::int64_t n = 1) {
    return calls_of("main", x, int_value(n));
  }
  Value tensor(gantry_device_id device) const {
    std::int64_t extent = 4;
    const gantry_tensor like{nullptr, device, 1, dtypes::float32, &extent, nullptr, 0};
    return Host(fake.table()).tensor_new(like).value();
  }
  Value shape(std::vector<std::int64_t> extents) const {
    return Host(fake.table()).shape(extents).value();
  }

  bool step_fails = false;
  bool step_throws = false;
  int steps = 0;
  bool ran = false;
  std::int64_t number_of_result = 0;
};

const std::vector<std::string> recorded = {"capture_begin own", "step own", "capture_end own",
                                           "capture_launch default"};
const std::vector<std::string> recorded_again = {"capture_destroy", "capture_begin own", "step own",
                                                 "capture_end own", "capture_launch default"};

TEST_F(RecordedWork, RunsOnceBetweenWaitsIsThenRecordedAndLaunched) {
  start_on(handles);
  const Value x = tensor(handles);

  EXPECT_THAT(calls(x), ElementsAre("capture_begin own", "capture_end own", "capture_destroy",
                                    "synchronize default", "step own", "synchronize own"));
  EXPECT_EQ(number_of_result, 101);
  EXPECT_EQ(calls(x), recorded);
  EXPECT_EQ(number_of_result, 201);
  EXPECT_THAT(calls(x), ElementsAre("capture_launch default"));
  EXPECT_EQ(number_of_result, 201) << "the result of the recorded run";
}

// A loop has any number of shapes.
TEST_F(RecordedWork, IsRecordedForAsManyShapesAsHaveRoom) {
  start_on(handles);
  const Value x = tensor(handles);
  for (std::size_t i = 0; i < Captures::max_entries; ++i) {
    const Value each = shape({static_cast<std::int64_t>(i)});
    calls_of("shaped", x, each.get());
  }
  const Value last = shape({Captures::max_entries - 1}), other = shape({Captures::max_entries});

  EXPECT_EQ(calls_of("shaped", x, other.get()), std::vector<std::string>{"step default"});
  EXPECT_EQ(calls_of("shaped", x, other.get()), std::vector<std::string>{"step default"});
  EXPECT_EQ(calls_of("shaped", x, last.get()), recorded);
}

TEST_F(RecordedWork, IsRecordedAgainForOtherArguments) {
  start_on(handles);
  const Value x = tensor(handles), y = tensor(handles);
  calls(x);
  calls(x);

  EXPECT_EQ(calls(y), recorded_again) << "other memory";
  EXPECT_EQ(calls(y, 2), recorded_again) << "another number";
  EXPECT_EQ(number_of_result, 402);
  EXPECT_EQ(calls_of("other", y, int_value(2)), recorded_again) << "another function";
  EXPECT_EQ(calls(y, 2), recorded_again);
  EXPECT_THAT(calls(y, 2), ElementsAre("capture_launch default"));
}

// On a device of handles, parts of one block have the same handle.
TEST_F(RecordedWork, IsRecordedAgainForAnotherPartOfTheSameMemory) {
  start_on(handles);
  const Value whole = tensor(handles);
  gantry_tensor half = *whole.tensor();
  std::int64_t extent = 2;
  half.shape = &extent;
  const Value first = Host(fake.table()).tensor_view(half, whole.object()).value();
  half.byte_offset = 8;
  const Value second = Host(fake.table()).tensor_view(half, whole.object()).value();
  calls(first);
  EXPECT_EQ(calls(first), recorded);

  EXPECT_EQ(calls(second), recorded_again);
  EXPECT_THAT(calls(second), ElementsAre("capture_launch default"));
}

TEST_F(RecordedWork, IsRecordedForEachShape) {
  start_on(handles);
  const Value x = tensor(handles), small = shape({1}), large = shape({2});
  calls_of("shaped", x, small.get());

  EXPECT_THAT(calls_of("shaped", x, large.get()),
              ElementsAre("synchronize default", "step own", "synchronize own"));
  EXPECT_EQ(calls_of("shaped", x, small.get()), recorded);
  EXPECT_EQ(calls_of("shaped", x, large.get()), recorded);
  EXPECT_THAT(calls_of("shaped", x, shape({1}).get()), ElementsAre("capture_launch default"));
}

TEST_F(RecordedWork, IsDiscardedIfItFails) {
  start_on(handles);
  const Value x = tensor(handles);
  calls(x);
  step_fails = true;

  EXPECT_THAT(calls(x),
              ElementsAre("capture_begin own", "step own", "capture_end own", "capture_destroy"));
  EXPECT_FALSE(ran);
  step_fails = false;
  EXPECT_EQ(calls(x), recorded);
}

TEST_F(RecordedWork, IsDiscardedIfMemoryIsExhausted) {
  start_on(handles);
  const Value x = tensor(handles);
  calls(x);
  step_throws = true;

  EXPECT_THAT(calls(x),
              ElementsAre("capture_begin own", "step own", "capture_end own", "capture_destroy"));
  EXPECT_FALSE(ran);
  step_throws = false;
  calls_of("shaped", x, shape({1}).get());
  EXPECT_EQ(memory->bytes(handles), 4096u) << "the memory of the recording is free";
  EXPECT_EQ(calls(x), recorded);
}

TEST_F(RecordedWork, RunsAgainBetweenWaitsAfterItsFirstRunHasFailed) {
  start_on(handles);
  const Value x = tensor(handles);
  step_fails = true;
  calls(x);
  EXPECT_FALSE(ran);
  step_fails = false;

  EXPECT_THAT(calls(x), ElementsAre("synchronize default", "step own", "synchronize own"));
}

TEST_F(RecordedWork, IsLaunchedInTheCallersStream) {
  start_on(handles);
  const Value x = tensor(handles);
  int stream = 0;
  const gantry_env env{handles, &stream, nullptr, nullptr};
  const gantry_value args[] = {x.get(), int_value(1)};
  const auto call = [&] {
    fake.device_calls.clear();
    EXPECT_TRUE(vm->run(*loaded->program.find("main"), &env, args).ok());
    return fake.device_calls;
  };
  calls(x);
  calls(x);

  EXPECT_THAT(call(), ElementsAre("capture_launch caller's"));
}

// The blocks of the pool that a recording writes to are not used for anything else.
TEST_F(RecordedWork, KeepsItsMemory) {
  start_on(handles);
  const Value x = tensor(handles);
  calls(x);
  EXPECT_EQ(memory->bytes(handles), 4096u);
  calls(x);

  calls_of("shaped", x, shape({1}).get());

  EXPECT_TRUE(ran);
  EXPECT_EQ(memory->bytes(handles), 2 * 4096u);
  calls(tensor(handles));
  EXPECT_EQ(memory->bytes(handles), 2 * 4096u) << "released for the new recording";
}

TEST_F(RecordedWork, EndsWithItsMachine) {
  start_on(handles);
  const Value x = tensor(handles);
  calls(x);
  calls(x);
  fake.device_calls.clear();

  vm.reset();

  EXPECT_THAT(fake.device_calls, ElementsAre("capture_destroy", "stream_destroy own"));
}

TEST_F(RecordedWork, BeginsAnewWithOtherDevices) {
  start_on(handles);
  const Value x = tensor(handles), cached = run("cached", {int_value(0)}).value();
  calls(x);
  calls(x);
  fake.device_calls.clear();

  ASSERT_TRUE(vm->initialize({}, nullptr).ok());

  EXPECT_THAT(fake.device_calls, ElementsAre("capture_destroy", "stream_destroy own"));
  EXPECT_THAT(calls(x), ElementsAre("step default"));
  EXPECT_NE(run("cached", {int_value(0)})->object(), cached.object());
}

TEST_F(RecordedWork, RunsEveryTimeOnADeviceWithoutCaptures) {
  start_on(gantry::test::cpu);
  const Value x = tensor(gantry::test::cpu);

  for (int i = 1; i <= 3; ++i) {
    EXPECT_THAT(calls(x), ElementsAre("step default"));
    EXPECT_EQ(number_of_result, i * 100 + 1);
  }
}

TEST_F(RecordedWork, AllocatesOnceForEachEntry) {
  start_on(gantry::test::cpu);

  const Value first = run("cached", {int_value(0)}).value();
  const Value again = run("cached", {int_value(0)}).value();
  const Value second = run("cached", {int_value(1)}).value();

  EXPECT_EQ(first.object(), again.object());
  EXPECT_NE(first.object(), second.object());
  EXPECT_EQ(fake.allocations.size(), 2u);
}

TEST_F(RecordedWork, RefusesAShapeThatIsNone) {
  start_on(gantry::test::cpu);

  EXPECT_THAT(error_of("shaped", {tensor(gantry::test::cpu).get(), int_value(1)}).message,
              HasSubstr("argument 4 (shape) is an integer, expected a shape"));
}

}  // namespace
}  // namespace gantry::relax::test
