// SPDX-License-Identifier: Apache-2.0
//
// Calls of kernels: the driver calls, the results, the errors.
#include "tests/unit/cuda/world.hpp"

#include <gmock/gmock.h>

#include <chrono>
#include <cstring>
#include <thread>

namespace gantry::cuda::test {
namespace {

using ::testing::ElementsAre;

constexpr char shared_tag[] = "tir.use_dyn_shared_memory";

class Launches : public WithFakeDriver {
 protected:
  // Loads the module that the test's calls use.
  gantry_function kernel(const KernelFields& fields) {
    module =
        world->load(payload_of({fields}, text_bytes(ptx_with({std::string(fields.name)})))).value();
    return world->function(module, fields.name).value();
  }
  ~Launches() override {
    if (module.table != nullptr) module.table->destroy(module.self);
  }
  gantry_module module{};
};

TEST_F(Launches, RunAKernel) {
  const gantry_function axpy2 = kernel({});
  const std::vector<float> a{1, 2, 3, 4};
  const std::vector<float> b{10, 20, 30, 40};
  std::vector<float> out(4);
  void* const memory[] = {world->alloc(16).value(), world->alloc(16).value(),
                          world->alloc(16).value()};
  ASSERT_TRUE(world->upload(memory[1], a).ok());
  ASSERT_TRUE(world->upload(memory[2], b).ok());

  const Status called = world->call(
      axpy2, {pointer_value(memory[0]), pointer_value(memory[1]), pointer_value(memory[2]),
              int_value(4), int_value(1), int_value(1), int_value(1), int_value(1), int_value(64)});

  ASSERT_TRUE(called.ok()) << called.error().message;
  ASSERT_TRUE(world->download(out, memory[0]).ok());
  EXPECT_THAT(out, ElementsAre(21, 42, 63, 84));
  EXPECT_THAT(fake.launches[0].grid, ElementsAre(1, 1, 1));
  EXPECT_THAT(fake.launches[0].block, ElementsAre(64, 1, 1));
  for (void* const data : memory) world->free(data);
}

// Launches on the tracks of their streams.
class TracedLaunches : public WithFakeDriver {
 protected:
  TracedLaunches() { world->host.tracing = true; }
  gantry_module load() { return world->load(payload_of({{"empty_kernel", "", {}}}, code)).value(); }
  std::size_t events() const { return fake.count_of("cuEventCreate"); }

  const Bytes code = text_bytes(ptx_with({"empty_kernel"}));
};

// The fake driver's clock advances by 250 us with each event.
TEST_F(TracedLaunches, AreRecordedBeforeSynchronizeReturns) {
  const gantry_module module = load();
  const gantry_function function = world->function(module, "empty_kernel").value();
  const auto& spans = world->host.track_spans;

  ASSERT_TRUE(world->call(function, {}).ok());
  ASSERT_TRUE(world->call(function, {}).ok());
  EXPECT_TRUE(spans.empty());
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  ASSERT_TRUE(world->synchronize().ok());

  ASSERT_EQ(spans.size(), 2u);
  for (const auto& span : spans) {
    EXPECT_EQ(span.track, "cuda:0/default queue");
    EXPECT_EQ(span.name, "empty_kernel");
    EXPECT_EQ(span.category, "kernel");
    EXPECT_EQ(span.end - span.begin, 250000);
  }
  EXPECT_EQ(spans[1].begin - spans[0].begin, 500000);
  EXPECT_LE(spans[1].end, std::chrono::steady_clock::now().time_since_epoch().count());
  ASSERT_TRUE(world->synchronize().ok());
  EXPECT_EQ(spans.size(), 2u);
  module.table->destroy(module.self);
}

TEST_F(TracedLaunches, AreBetweenLaunchAndWaitOnAnyClock) {
  const gantry_module module = load();
  const gantry_function function = world->function(module, "empty_kernel").value();
  const std::int64_t before = std::chrono::steady_clock::now().time_since_epoch().count();

  for (int i = 0; i < 100; ++i) ASSERT_TRUE(world->call(function, {}).ok());
  ASSERT_TRUE(world->synchronize().ok());

  for (const auto& span : world->host.track_spans) {
    EXPECT_LE(before, span.begin);
    EXPECT_LE(span.begin, span.end);
  }
  module.table->destroy(module.self);
}

TEST_F(TracedLaunches, CostNoEventWhileNothingIsRecorded) {
  const gantry_module module = load();
  const gantry_function function = world->function(module, "empty_kernel").value();
  world->host.recording = false;

  ASSERT_TRUE(world->call(function, {}).ok());
  ASSERT_TRUE(world->synchronize().ok());

  EXPECT_EQ(events(), 0u);
  EXPECT_EQ(fake.count_of("cuStreamIsCapturing"), 0u);
  module.table->destroy(module.self);
}

TEST_F(TracedLaunches, AreNotPartOfACapture) {
  const gantry_module module = load();
  const gantry_function function = world->function(module, "empty_kernel").value();
  const gantry_device_table& device = world->device();
  void *stream = nullptr, *graph = nullptr;
  ASSERT_EQ(device.stream_create(world->self(), 0, 0, &stream, nullptr), GANTRY_OK);
  ASSERT_TRUE(world->call(function, {}, 0, stream).ok());
  ASSERT_TRUE(world->synchronize(stream).ok());
  ASSERT_EQ(world->host.track_spans.size(), 1u);

  ASSERT_EQ(device.capture_begin(world->self(), 0, stream, nullptr), GANTRY_OK);
  ASSERT_TRUE(world->call(function, {}, 0, stream).ok());
  ASSERT_EQ(device.capture_end(world->self(), 0, stream, &graph, nullptr), GANTRY_OK);
  ASSERT_TRUE(world->synchronize(stream).ok());
  EXPECT_EQ(world->host.track_spans.size(), 1u);
  ASSERT_EQ(device.capture_launch(world->self(), 0, graph, stream, nullptr), GANTRY_OK);
  ASSERT_TRUE(world->synchronize(stream).ok());

  ASSERT_EQ(world->host.track_spans.size(), 2u);
  EXPECT_EQ(world->host.track_spans[1].name, "captured run");
  EXPECT_EQ(world->host.track_spans[1].track, "cuda:0/queue 1");
  // Work of a stream that is destroyed is not recorded, and its events are freed.
  ASSERT_TRUE(world->call(function, {}, 0, stream).ok());
  device.capture_destroy(world->self(), 0, graph);
  device.stream_destroy(world->self(), 0, stream);
  ASSERT_TRUE(world->synchronize().ok());
  EXPECT_EQ(world->host.track_spans.size(), 2u);
  module.table->destroy(module.self);
}

TEST_F(Launches, PassEveryTypeInItsWidth) {
  const gantry_function store = kernel({"store_kernel", "pilufd", {}});
  void* const memory = world->alloc(40).value();
  std::vector<std::uint8_t> out(40);

  const Status called =
      world->call(store, {pointer_value(memory), int_value(-5), int_value(INT64_MIN),
                          int_value(4000000000), float_value(0.1), float_value(-0.1)});

  ASSERT_TRUE(called.ok()) << called.error().message;
  ASSERT_TRUE(world->copy(on_cuda(memory), on_host(out.data()), 40).ok());
  const auto at = [&]<class T>(std::size_t offset, T) {
    T value;
    std::memcpy(&value, out.data() + offset, sizeof value);
    return value;
  };
  EXPECT_EQ(at(0, std::int32_t{}), -5);
  EXPECT_EQ(at(8, std::int64_t{}), INT64_MIN);
  EXPECT_EQ(at(16, std::uint32_t{}), 4000000000u);
  EXPECT_EQ(at(24, float{}), 0.1f);
  EXPECT_EQ(at(32, double{}), -0.1);
  world->free(memory);
}

TEST_F(Launches, ApplyTheByteOffsetOfTensors) {
  const gantry_function store = kernel({"store_kernel", "pilufd", {}});
  void* const memory = world->alloc(64).value();
  gantry_tensor tensor{};
  tensor.data = memory;
  tensor.byte_offset = 16;
  tensor.device = {cuda_type, 0};
  std::int32_t out = 0;

  const Status called = world->call(store, {tensor_ref_value(&tensor), int_value(77), int_value(0),
                                            int_value(0), float_value(0), float_value(0)});

  ASSERT_TRUE(called.ok()) << called.error().message;
  ASSERT_TRUE(world->copy(on_cuda(memory, 16), on_host(&out), 4).ok());
  EXPECT_EQ(out, 77);
  world->free(memory);
}

TEST_F(Launches, PassATensorMapByValue) {
  const gantry_function copy_map = kernel({"map_kernel", "mp", {}});
  std::vector<float> map(32);
  for (std::size_t i = 0; i < map.size(); ++i) map[i] = static_cast<float>(i);
  std::vector<float> out(32);
  void* const memory = world->alloc(128).value();

  const Status called = world->call(copy_map, {pointer_value(map.data()), pointer_value(memory)});
  const Status null = world->call(copy_map, {pointer_value(nullptr), pointer_value(memory)});

  ASSERT_TRUE(called.ok()) << called.error().message;
  ASSERT_TRUE(world->download(out, memory).ok());
  EXPECT_EQ(out, map);
  ASSERT_FALSE(null.ok());
  EXPECT_EQ(null.error().message,
            "kernel \"map_kernel\": argument 0 is a null pointer, expected that of a tensor map");
  world->free(memory);
}

TEST_F(Launches, AcceptAnyNumberOfParameters) {
  const std::string parameters = 'p' + std::string(99, 'l');
  const gantry_function sum = kernel({"sum_kernel", parameters, {}});
  void* const memory = world->alloc(8).value();
  std::vector<gantry_value> args{pointer_value(memory)};
  for (int i = 1; i < 100; ++i) args.push_back(int_value(i));
  std::int64_t out = 0;

  ASSERT_TRUE(world->call(sum, args).ok());

  ASSERT_TRUE(world->copy(on_cuda(memory), on_host(&out), 8).ok());
  EXPECT_EQ(out, 4950);
  world->free(memory);
}

TEST_F(Launches, UseTheExtentsOfTheirTags) {
  const gantry_function tagged =
      kernel({"empty_kernel", "", {"threadIdx.y", "blockIdx.z", "blockIdx.x", shared_tag}});

  ASSERT_TRUE(world->call(tagged, {int_value(8), int_value(3), int_value(1), int_value(64)}).ok());

  EXPECT_THAT(fake.launches[0].grid, ElementsAre(1, 1, 3));
  EXPECT_THAT(fake.launches[0].block, ElementsAre(1, 8, 1));
  EXPECT_EQ(fake.launches[0].shared_bytes, 64u);
}

TEST_F(Launches, AreLeftOutWithAnExtentOfZero) {
  const gantry_function tagged = kernel({"empty_kernel", "", {"blockIdx.x", "threadIdx.x"}});

  for (const std::int64_t blocks : {0, 1, 0})
    ASSERT_TRUE(world->call(tagged, {int_value(blocks), int_value(8)}).ok());

  EXPECT_EQ(fake.launches.size(), 1u);
}

TEST_F(Launches, RaiseTheSharedMemoryLimitOnlyForANewMaximum) {
  const gantry_function shared = kernel({"empty_kernel", "", {shared_tag}});
  constexpr int kib = 1024;

  for (const int bytes : {1, 48 * kib, 49 * kib, 49 * kib, 60 * kib, 50 * kib, 64 * kib}) {
    ASSERT_TRUE(world->call(shared, {int_value(bytes)}).ok()) << bytes;
  }

  EXPECT_EQ(fake.count_of("cuFuncSetAttribute"), 3u);
  EXPECT_EQ(fake.launches.size(), 7u);
}

TEST_F(Launches, RejectSharedMemoryAboveTheDevicesLimit) {
  const gantry_function shared = kernel({"empty_kernel", "", {shared_tag}});

  const Status called = world->call(shared, {int_value(200 * 1024)});

  ASSERT_FALSE(called.ok());
  EXPECT_EQ(called.error().code, Code::invalid);
  EXPECT_EQ(
      called.error().message,
      "cuFuncSetAttribute: CUDA_ERROR_INVALID_VALUE (1), what the driver says\n  kernel "
      "\"empty_kernel\" requires 204800 bytes of dynamic shared memory for each block of device "
      "0 (Fake H200)");
}

// The driver takes the size as an int.
TEST_F(Launches, RejectSharedMemoryAboveTheDriversRange) {
  const gantry_function shared = kernel({"empty_kernel", "", {shared_tag}});

  for (const std::int64_t bytes :
       {std::int64_t{INT32_MAX} + 1, std::int64_t{3} << 30, std::int64_t{1} << 40}) {
    const Status called = world->call(shared, {int_value(bytes)});

    ASSERT_FALSE(called.ok());
    EXPECT_EQ(called.error().reason, "LAUNCH_EXTENT");
    EXPECT_EQ(called.error().message, concat("kernel \"empty_kernel\": dynamic shared memory is ",
                                             bytes, " bytes, maximum is 2147483647"));
  }
  EXPECT_EQ(fake.count_of("cuFuncSetAttribute"), 0u);
  EXPECT_FALSE(world->call(shared, {int_value(INT32_MAX)}).ok());
  EXPECT_EQ(fake.count_of("cuFuncSetAttribute"), 1u);
}

TEST_F(Launches, ReportTheirExtentsInADriverError) {
  const gantry_function tagged = kernel({"empty_kernel", "", {"threadIdx.x"}});

  const Status called = world->call(tagged, {int_value(2048)}, 1);

  ASSERT_FALSE(called.ok());
  EXPECT_EQ(called.error().code, Code::invalid);
  EXPECT_EQ(called.error().reason, "DRIVER_CALL");
  EXPECT_EQ(called.error().message,
            "cuLaunchKernel: CUDA_ERROR_INVALID_VALUE (1), what the driver says\n  in a launch of "
            "kernel \"empty_kernel\" on device 1 (Fake T4): grid 1x1x1, block 2048x1x1, 0 bytes of "
            "dynamic shared memory");
}

TEST_F(Launches, RejectAWrongNumberOfArguments) {
  const gantry_function axpy2 = kernel({});

  const Status called = world->call(axpy2, {int_value(1)});

  ASSERT_FALSE(called.ok());
  EXPECT_EQ(called.error().code, Code::invalid);
  EXPECT_EQ(called.error().reason, "ARGUMENT_COUNT");
  // The error precedes any driver call.
  EXPECT_EQ(fake.calls.size(), 0u);
}

TEST_F(Launches, RejectUnsupportedTags) {
  struct Tagged {
    std::string_view tag;
    std::string what;
  };
  for (const Tagged& tagged : {Tagged{"clusterCtaIdx.x", "clusters of blocks"},
                               Tagged{"preferredClusterCtaIdx.y", "clusters of blocks"},
                               Tagged{"tirx.use_cooperative_launch", "a cooperative launch"}}) {
    const gantry_module other =
        world->load(payload_of({{"empty_kernel", "", {tagged.tag}}}, text_bytes(ptx_text())))
            .value();

    const Result<gantry_function> found = world->function(other, "empty_kernel");

    ASSERT_FALSE(found.ok());
    EXPECT_EQ(found.error().code, Code::unsupported);
    EXPECT_EQ(found.error().reason, "LAUNCH_TAG");
    EXPECT_EQ(found.error().message, concat("kernel \"empty_kernel\" requires ", tagged.what,
                                            ", which this version of gantry.cuda does not launch"));
    other.table->destroy(other.self);
  }
}

TEST_F(Launches, UseTheStreamOfTheCall) {
  const gantry_function empty = kernel({"empty_kernel", "", {}});
  void* stream = nullptr;
  ASSERT_EQ(world->device().stream_create(world->self(), 0, 0, &stream, nullptr), GANTRY_OK);

  ASSERT_TRUE(world->call(empty, {}, 0, stream).ok());
  ASSERT_TRUE(world->call(empty, {}, 0, nullptr).ok());

  EXPECT_EQ(fake.launches[0].stream, stream);
  EXPECT_NE(fake.launches[1].stream, stream);
  // The legacy stream cannot be captured.
  EXPECT_NE(fake.launches[1].stream, nullptr);
  world->device().stream_destroy(world->self(), 0, stream);
}

// The first launch may load the kernel's module during the capture.
TEST_F(Launches, AreCaptured) {
  const gantry_function axpy2 = kernel({});
  void* const memory = world->alloc(4).value();
  std::vector<float> value{1};
  void* graph = nullptr;
  const gantry_device_table& device = world->device();
  const gantry_value data = pointer_value(memory);
  ASSERT_TRUE(world->upload(memory, value).ok());

  ASSERT_EQ(device.capture_begin(world->self(), 0, nullptr, nullptr), GANTRY_OK);
  ASSERT_TRUE(world
                  ->call(axpy2, {data, data, data, int_value(1), int_value(1), int_value(1),
                                 int_value(1), int_value(1), int_value(1)})
                  .ok());
  ASSERT_EQ(device.capture_end(world->self(), 0, nullptr, &graph, nullptr), GANTRY_OK);
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(device.capture_launch(world->self(), 0, graph, nullptr, nullptr), GANTRY_OK);
  }
  ASSERT_TRUE(world->download(value, memory).ok());

  // x + 2x, three times
  EXPECT_EQ(value[0], 27);
  EXPECT_EQ(fake.launches.size(), 1u);
  device.capture_destroy(world->self(), 0, graph);
  world->free(memory);
}

}  // namespace
}  // namespace gantry::cuda::test
