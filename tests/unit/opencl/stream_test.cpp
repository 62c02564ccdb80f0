// SPDX-License-Identifier: Apache-2.0
#include "world.hpp"

#include <algorithm>

namespace gantry::opencl::test {
namespace {

using ::testing::Each;

using OpenclStream = OpenclTest;

TEST_F(OpenclStream, RunsTheWorkOfAStreamInOrder) {
  void* stream = nullptr;
  ASSERT_EQ(table_.stream_create(self_, 0, 0, &stream, nullptr), GANTRY_OK);
  const auto module = load(both_kernels());
  constexpr std::size_t count = 4096;
  void* const x = memory(count * 4);
  void* const y = memory(count * 4);

  const auto launch = [&](std::string_view name, std::vector<gantry_value> args) {
    args.insert(args.end(), {int_value(count / 64), int_value(64)});
    const Status status = module->call(name, args, 0, stream);
    EXPECT_TRUE(status.ok()) << status.error().message;
  };
  for (int round = 0; round < 5; ++round) {
    launch("fill", {pointer_value(x), float_value(round)});
    launch("fill", {pointer_value(y), float_value(1)});
    launch("axpy", {pointer_value(x), pointer_value(y), float_value(2), int_value(count)});
    EXPECT_THAT(floats_in(y, count, 0, stream), Each(1.0f + 2.0f * static_cast<float>(round)));
  }
  table_.stream_destroy(self_, 0, stream);
}

TEST_F(OpenclStream, WaitsForAnEventOfAnotherStream) {
  void* first = nullptr;
  void* second = nullptr;
  void* event = nullptr;
  ASSERT_EQ(table_.stream_create(self_, 0, 0, &first, nullptr), GANTRY_OK);
  ASSERT_EQ(table_.stream_create(self_, 0, 0, &second, nullptr), GANTRY_OK);
  ASSERT_EQ(table_.event_create(self_, 0, 0, &event, nullptr), GANTRY_OK);
  constexpr std::ptrdiff_t count = 1 << 18;
  std::vector<float> back(count);
  void* const data = memory(count * 4);
  const auto module = load(both_kernels());

  EXPECT_EQ(table_.event_wait(self_, 0, event, second, nullptr), GANTRY_OK) << "never recorded";
  for (int round = 1; round <= 20; ++round) {
    ASSERT_TRUE(
        module
            ->call("fill",
                   {pointer_value(data), float_value(round), int_value(count / 64), int_value(64)},
                   0, first)
            .ok());
    ASSERT_EQ(table_.event_record(self_, 0, event, first, nullptr), GANTRY_OK);
    ASSERT_EQ(table_.event_wait(self_, 0, event, second, nullptr), GANTRY_OK);
    ASSERT_TRUE(
        copy(on_device(data), on_host(back.data()), count * 4, 0, GANTRY_COPY_BLOCKING, second)
            .ok());
    EXPECT_EQ(std::count(back.begin(), back.end(), static_cast<float>(round)), count);
  }
  table_.event_destroy(self_, 0, event);
  table_.stream_destroy(self_, 0, first);
  table_.stream_destroy(self_, 0, second);
}

TEST_F(OpenclStream, MeasuresTheTimeBetweenTwoEvents) {
  void* begin = nullptr;
  void* end = nullptr;
  ASSERT_EQ(table_.event_create(self_, 0, 0, &begin, nullptr), GANTRY_OK);
  ASSERT_EQ(table_.event_create(self_, 0, 0, &end, nullptr), GANTRY_OK);
  constexpr std::uint64_t size = std::uint64_t{16} << 20;
  void* const first = memory(size);
  void* const second = memory(size);
  std::int64_t ns = -1;

  StatusBuffer status;
  const gantry_code code = table_.event_elapsed(self_, 0, begin, end, &ns, status.get());
  expect_error(status.error(code, "event_elapsed"), Code::invalid, "EVENT",
               "event start was never recorded");
  ASSERT_EQ(table_.event_record(self_, 0, begin, nullptr, nullptr), GANTRY_OK);
  for (int i = 0; i < 4; ++i)
    ASSERT_TRUE(copy(on_device(first), on_device(second), size, 0, 0).ok());
  ASSERT_EQ(table_.event_record(self_, 0, end, nullptr, nullptr), GANTRY_OK);
  ASSERT_EQ(table_.event_elapsed(self_, 0, begin, end, &ns, nullptr), GANTRY_OK);

  EXPECT_GT(ns, 1000) << "copying 64 MiB takes more than a microsecond";
  EXPECT_LT(ns, std::int64_t{60} * 1000 * 1000 * 1000);
  table_.event_destroy(self_, 0, begin);
  table_.event_destroy(self_, 0, end);
}

TEST_F(OpenclStream, ReachesEventsWithinATime) {
  void* event = nullptr;
  ASSERT_EQ(table_.event_create(self_, 0, GANTRY_EVENT_UNTIMED, &event, nullptr), GANTRY_OK);
  constexpr std::uint64_t size = std::uint64_t{16} << 20;
  void* const first = memory(size);
  void* const second = memory(size);
  std::int32_t reached = 7;
  StatusBuffer status;
  gantry_code code = table_.event_reached(self_, 0, event, 0, &reached, status.get());
  expect_error(status.error(code, "event_reached"), Code::invalid, "EVENT",
               "event was never recorded");

  for (const std::int64_t timeout : {std::int64_t{30'000'000'000}, GANTRY_NO_TIMEOUT}) {
    ASSERT_TRUE(copy(on_device(first), on_device(second), size, 0, 0).ok());
    ASSERT_EQ(table_.event_record(self_, 0, event, nullptr, nullptr), GANTRY_OK);
    ASSERT_EQ(table_.event_reached(self_, 0, event, timeout, &reached, nullptr), GANTRY_OK);
    EXPECT_EQ(reached, 1);
  }
  std::int64_t ns = 0;
  code = table_.event_elapsed(self_, 0, event, event, &ns, status.get());
  expect_error(status.error(code, "event_elapsed"), Code::invalid, "EVENT",
               "event start has no time");
  table_.event_destroy(self_, 0, event);
}

// A queue of another context cannot use the memory of this one.
TEST_F(OpenclStream, IsImportedFromItsContextOnly) {
  void *context = nullptr, *own = nullptr, *imported = nullptr;
  ASSERT_EQ(table_.native_get(self_, 0, GANTRY_NATIVE_CONTEXT, nullptr, &context, nullptr),
            GANTRY_OK);
  ASSERT_EQ(table_.native_get(self_, 0, GANTRY_NATIVE_STREAM, nullptr, &own, nullptr), GANTRY_OK);
  cl_device_id device = nullptr;
  ASSERT_EQ(clGetCommandQueueInfo(static_cast<cl_command_queue>(own), CL_QUEUE_DEVICE,
                                  sizeof device, &device, nullptr),
            CL_SUCCESS);
  cl_int error = CL_SUCCESS;
  const cl_command_queue queue =
      clCreateCommandQueue(static_cast<cl_context>(context), device, 0, &error);
  const cl_context other_context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &error);
  const cl_command_queue other = clCreateCommandQueue(other_context, device, 0, &error);
  void* const data = memory(64);
  std::vector<float> from(16, 3), to(16);
  StatusBuffer status;

  ASSERT_EQ(table_.stream_import(self_, 0, queue, &imported, nullptr), GANTRY_OK);
  EXPECT_TRUE(copy(on_host(from.data()), on_device(data), 64, 0, 0, imported).ok());
  EXPECT_TRUE(
      copy(on_device(data), on_host(to.data()), 64, 0, GANTRY_COPY_BLOCKING, imported).ok());
  EXPECT_EQ(to, from);
  table_.stream_destroy(self_, 0, imported);
  EXPECT_EQ(clFinish(queue), CL_SUCCESS) << "it is its owner's";
  const gantry_code code = table_.stream_import(self_, 0, other, &imported, status.get());
  EXPECT_EQ(code, GANTRY_INVALID);
  EXPECT_EQ(status.error(code, "").reason, "STREAM");

  clReleaseCommandQueue(queue);
  clReleaseCommandQueue(other);
  clReleaseContext(other_context);
}

}  // namespace
}  // namespace gantry::opencl::test
