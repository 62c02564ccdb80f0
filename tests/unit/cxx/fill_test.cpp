// SPDX-License-Identifier: Apache-2.0
#include <gantry/fill.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace gantry {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A host with one device, 64:0, whose memory is that of the test.
class DeviceHost : public gantry_host {
 public:
  DeviceHost() : gantry_host{} {
    struct_size = sizeof(gantry_host);
    gantry_host::device_get = [](const gantry_host* host, gantry_device_id id, gantry_device* out,
                                 gantry_status*) {
      out->table = &static_cast<const DeviceHost*>(host)->device;
      out->self = const_cast<gantry_host*>(host);
      out->id = id;
      return gantry_code{GANTRY_OK};
    };
    gantry_host::tensor_copy = [](const gantry_host* host, const gantry_tensor* from,
                                  const gantry_tensor* to, const gantry_env*, gantry_status*) {
      auto* const self = const_cast<DeviceHost*>(static_cast<const DeviceHost*>(host));
      self->calls.push_back(concat("copy ", from->shape[0], " to ", to->byte_offset));
      std::memcpy(static_cast<char*>(to->data) + to->byte_offset, from->data,
                  static_cast<std::size_t>(from->shape[0]));
      return gantry_code{GANTRY_OK};
    };
    device.struct_size = sizeof device;
    device.name = "quasar";
  }

  template <gantry_code code>
  void has_fill() {
    device.fill = [](void* self, std::int32_t, void* data, std::uint64_t byte_offset,
                     std::uint64_t size, const void* pattern, std::uint32_t pattern_size,
                     void* stream, gantry_status* status) -> gantry_code {
      static_cast<DeviceHost*>(self)->calls.push_back(
          concat("fill ", size, " from ", byte_offset, stream != nullptr ? " in a stream" : ""));
      if (code != GANTRY_OK) return gantry_fail(status, code, "FAKE", "the fake device fails");
      EXPECT_EQ(pattern_size, 1u);
      std::memset(static_cast<char*>(data) + byte_offset, *static_cast<const char*>(pattern), size);
      return GANTRY_OK;
    };
  }

  gantry_device_table device{};
  std::vector<std::string> calls;
};

struct FillZeros : ::testing::Test {
  static constexpr gantry_device_id accelerator{64, 0};

  Status fill(gantry_device_id device, std::int64_t count, std::uint64_t offset,
              const gantry_env* env = nullptr) {
    gantry_tensor tensor = compact_tensor(dtypes::int16, {&count, 1}, device, bytes.data());
    tensor.byte_offset = offset;
    return fill_zeros(Host(&host), tensor, env);
  }

  DeviceHost host;
  std::vector<char> bytes = std::vector<char>(3 << 20, 1);
};

TEST_F(FillZeros, CallsTheDeviceInItsStream) {
  host.has_fill<GANTRY_OK>();
  int stream = 0;
  const gantry_env env{accelerator, &stream, nullptr, nullptr};

  ASSERT_TRUE(fill(accelerator, 8, 4, &env).ok());

  EXPECT_THAT(host.calls, ElementsAre("fill 16 from 4 in a stream"));
  EXPECT_EQ(std::string(bytes.data(), 24),
            std::string(4, 1) + std::string(16, 0) + std::string(4, 1));
}

TEST_F(FillZeros, CopiesZerosInPartsToADeviceWithoutTheFunction) {
  ASSERT_TRUE(fill(accelerator, (1 << 19) + 5, 2).ok());

  EXPECT_THAT(host.calls, ElementsAre("copy 1048576 to 2", "copy 10 to 1048578"));
  EXPECT_EQ(bytes[1], 1);
  EXPECT_THAT(std::vector<char>(bytes.begin() + 2, bytes.begin() + 1048588), Each(0));
  EXPECT_EQ(bytes[1048588], 1);
}

TEST_F(FillZeros, CopiesZerosIfTheDeviceDoesNotSupportThePattern) {
  host.has_fill<GANTRY_UNSUPPORTED>();

  ASSERT_TRUE(fill(accelerator, 2, 0).ok());

  EXPECT_THAT(host.calls, ElementsAre("fill 4 from 0", "copy 4 to 0"));
}

TEST_F(FillZeros, ReturnsAFailureOfTheDevice) {
  host.has_fill<GANTRY_EXHAUSTED>();

  const Status failed = fill(accelerator, 2, 0);

  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().code, Code::exhausted);
  EXPECT_EQ(failed.error().reason, "FAKE");
  EXPECT_EQ(failed.error().message, "the fake device fails");
  EXPECT_THAT(host.calls, ElementsAre("fill 4 from 0"));

  host.device.fill = [](void*, std::int32_t, void*, std::uint64_t, std::uint64_t, const void*,
                        std::uint32_t, void*,
                        gantry_status*) -> gantry_code { return GANTRY_EXHAUSTED; };
  EXPECT_EQ(fill(accelerator, 2, 0).error().message,
            "fill of quasar:0 fails as exhausted without a reason");
}

TEST_F(FillZeros, WritesHostMemoryItself) {
  ASSERT_TRUE(fill({cpu_device_type, 0}, 3, 2).ok());
  ASSERT_TRUE(fill(accelerator, 0, 0).ok());

  EXPECT_THAT(host.calls, IsEmpty());
  EXPECT_EQ(std::string(bytes.data(), 10),
            std::string(2, 1) + std::string(6, 0) + std::string(2, 1));
}

}  // namespace
}  // namespace gantry
