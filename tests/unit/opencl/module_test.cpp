// SPDX-License-Identifier: Apache-2.0
#include "tests/support/memory_sink.hpp"
#include "world.hpp"

namespace gantry::opencl::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class OpenclModule : public OpenclTest {
 protected:
  const gantry_loader_table& loader_ = loader_table<Plugin, Module>;
  std::int32_t verdict_on(const std::vector<std::uint8_t>& payload) {
    const gantry_blob blob = gantry::test::payload_blob(payload);
    std::int32_t verdict = -1;
    StatusBuffer status;
    const gantry_code code = loader_.check_binary(self_, &blob, 0, &verdict, status.get());
    EXPECT_EQ(code, GANTRY_OK) << status.error(code, "check_binary").message;
    return verdict;
  }
};

TEST_F(OpenclModule, ReportsAVerdictForADevice) {
  const std::vector<std::uint8_t> spirv = spirv_bytes({fill}, {{"fill", {0x07230203}}});

  EXPECT_EQ(verdict_on(both_kernels()), GANTRY_VERDICT_RECOMPILE);
  EXPECT_EQ(verdict_on(payload_bytes("clbin", {fill}, "binary")), GANTRY_VERDICT_USABLE);
  if (device_text(plugin().driver.device(0).value()->id, CL_DEVICE_IL_VERSION).empty()) {
    EXPECT_EQ(verdict_on(spirv), GANTRY_VERDICT_NO);
  }
  between.il_version = "SPIR-V_1.2";
  EXPECT_EQ(verdict_on(spirv), GANTRY_VERDICT_RECOMPILE);
  EXPECT_EQ(between.contexts, 0);
}

TEST_F(OpenclModule, LoadsWithoutADriver) {
  between.no_platform = true;
  restart();
  const auto module = load(both_kernels());

  const Status status =
      module->call("fill", {pointer_value(nullptr), float_value(1), int_value(1), int_value(1)});

  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, Code::unavailable);
  EXPECT_EQ(status.error().reason, "DRIVER_MISSING");
}

TEST_F(OpenclModule, ReleasesEverythingAfterADamagedPayload) {
  std::vector<std::uint8_t> payload = both_kernels();
  payload.pop_back();
  gantry_blob blob = gantry::test::payload_blob(payload);
  blob.pin = host_.new_pin();
  gantry_module module{};
  std::uint64_t consumed = 77;
  StatusBuffer status;

  const gantry_code code =
      loader_.load_binary(self_, &blob, host_.node(), &module, &consumed, status.get());

  const Error error = status.error(code, "load_binary");
  EXPECT_EQ(error.code, Code::malformed);
  EXPECT_EQ(error.reason, "BLOB_TRUNCATED");
  EXPECT_THAT(error.message, HasSubstr("code: length "));
  EXPECT_EQ(module.self, nullptr);
  EXPECT_EQ(consumed, 77u);
  EXPECT_EQ(host_.references(blob.pin), 1);
  host_.release(blob.pin);
}

TEST_F(OpenclModule, SavesTheBytesThatItRead) {
  const std::vector<std::uint8_t> payload = both_kernels();
  const auto module = load(payload);
  gantry::test::MemorySink sink;

  ASSERT_EQ(module->get().table->save_binary(module->get().self, sink.raw(), nullptr), GANTRY_OK);

  EXPECT_EQ(sink.bytes, payload);
}

TEST_F(OpenclModule, AddsBuildsToTheTrace) {
  host_.tracing = true;
  const auto module = load(both_kernels());
  void* const data = memory(16);

  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(
        module->call("fill", {pointer_value(data), float_value(1), int_value(1), int_value(4)})
            .ok());
  }

  EXPECT_THAT(host_.spans, ElementsAre("build:build fill"));
}

TEST_F(OpenclModule, PreparesAllKernelsSoThatCallsBuildNothing) {
  host_.tracing = true;
  const auto module = load(both_kernels());
  const gantry_env env{};
  const gantry_device_id device{device_type, 0};
  const gantry_prepare what{sizeof what, 1, &device};
  StatusBuffer status;

  const gantry_code code =
      module->get().table->prepare(module->get().self, &env, &what, status.get());

  ASSERT_EQ(code, GANTRY_OK) << status.error(code, "prepare").message;
  const std::vector<std::string> builds = host_.spans;
  EXPECT_THAT(builds, ElementsAre("build:build axpy", "build:build fill"));
  void* const data = memory(16);
  ASSERT_TRUE(
      module->call("fill", {pointer_value(data), float_value(1), int_value(1), int_value(4)}).ok());
  EXPECT_EQ(host_.spans, builds);
}

TEST_F(OpenclModule, PreparesTheOthersIfTheCodeLacksAKernel) {
  host_.tracing = true;
  const auto module = load(payload_bytes("cl", {{"absent", {handle}}, fill},
                                         marked("absent", axpy_body) + marked("fill", fill_body)));
  const gantry_env env{};
  const gantry_device_id device{device_type, 0};
  const gantry_prepare what{sizeof what, 1, &device};
  StatusBuffer status;

  const gantry_code code =
      module->get().table->prepare(module->get().self, &env, &what, status.get());

  EXPECT_EQ(status.error(code, "prepare").reason, "KERNEL_CODE");
  EXPECT_THAT(host_.spans, ElementsAre("build:build absent", "build:build fill"));
}

TEST_F(OpenclModule, IsNotPreparedForACancelledCall) {
  const auto module = load(both_kernels());
  host_.cancelled = true;
  const int task = 0;
  gantry_env env{};
  env.task = &task;
  const gantry_device_id device{device_type, 0};
  const gantry_prepare what{sizeof what, 1, &device};

  EXPECT_EQ(module->get().table->prepare(module->get().self, &env, &what, nullptr),
            GANTRY_CANCELLED);
}

// Launches of kernels on the tracks of their queues.
class OpenclSpans : public OpenclTest {
 protected:
  void SetUp() override {
    host_.tracing = true;
    OpenclTest::SetUp();
  }
  Status fill_once(const Loaded& module, void* data, void* stream = nullptr) {
    return module.call("fill", {pointer_value(data), float_value(1), int_value(1), int_value(4)}, 0,
                       stream);
  }
  static std::int64_t now() { return std::chrono::steady_clock::now().time_since_epoch().count(); }
};

TEST_F(OpenclSpans, AreRecordedBeforeSynchronizeReturns) {
  restart();
  const auto module = load(both_kernels());
  void* const data = memory(16);
  const std::int64_t before = now();

  ASSERT_TRUE(fill_once(*module, data).ok());
  ASSERT_TRUE(fill_once(*module, data).ok());
  EXPECT_TRUE(host_.track_spans.empty());
  ASSERT_TRUE(synchronize().ok());

  const std::int64_t after = now();
  ASSERT_EQ(host_.track_spans.size(), 2u);
  for (const auto& span : host_.track_spans) {
    EXPECT_EQ(span.track, "opencl:0/default queue");
    EXPECT_EQ(span.name, "fill");
    EXPECT_EQ(span.category, "kernel");
    EXPECT_LE(before, span.begin);
    EXPECT_LE(span.begin, span.end);
    EXPECT_LE(span.end, after);
  }
  EXPECT_LE(host_.track_spans[0].end, host_.track_spans[1].begin);
  ASSERT_TRUE(synchronize().ok());
  EXPECT_EQ(host_.track_spans.size(), 2u);
}

TEST_F(OpenclSpans, AreOnTheTrackOfTheirQueue) {
  restart();
  const auto module = load(both_kernels());
  void* const data = memory(16);
  void* stream = nullptr;
  ASSERT_EQ(table_.stream_create(self_, 0, 0, &stream, nullptr), GANTRY_OK);

  ASSERT_TRUE(fill_once(*module, data, stream).ok());
  ASSERT_TRUE(synchronize().ok());
  EXPECT_TRUE(host_.track_spans.empty());
  ASSERT_TRUE(synchronize(0, stream).ok());

  ASSERT_EQ(host_.track_spans.size(), 1u);
  EXPECT_EQ(host_.track_spans[0].track, "opencl:0/queue 1");
  ASSERT_TRUE(fill_once(*module, data, stream).ok());
  table_.stream_destroy(self_, 0, stream);
  ASSERT_TRUE(synchronize().ok());
  EXPECT_EQ(host_.track_spans.size(), 1u);
}

TEST_F(OpenclSpans, AreNotKeptWhileNothingIsRecorded) {
  restart();
  const auto module = load(both_kernels());
  void* const data = memory(16);
  host_.recording = false;

  ASSERT_TRUE(fill_once(*module, data).ok());
  host_.recording = true;
  ASSERT_TRUE(synchronize().ok());

  EXPECT_TRUE(host_.track_spans.empty());
}

}  // namespace
}  // namespace gantry::opencl::test
