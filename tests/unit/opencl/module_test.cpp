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

}  // namespace
}  // namespace gantry::opencl::test
