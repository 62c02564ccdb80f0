// SPDX-License-Identifier: Apache-2.0
//
// Runs the plugin in a fake host with a fake driver, and calls its tables like a host.
#pragma once

#include "plugins/cuda/plugin.hpp"
#include "tests/support/fake_host.hpp"
#include "tests/unit/cuda/fake_driver.hpp"
#include "tests/unit/cuda/images.hpp"

#include <gantry/plugin.h>
#include <gantry/device_name.hpp>

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace gantry::cuda::test {

// Describes a payload with one kernel.
struct KernelFields {
  std::string_view name = "axpy2_kernel0";
  // p handle, i int32, l int64, u uint32, f float32, d float64, m tensor map
  std::string_view parameters = "pppiiii";
  std::vector<std::string_view> tags = {"blockIdx.x", "threadIdx.x"};
};
Bytes payload_of(const std::vector<KernelFields>& kernels, const Bytes& code,
                 std::string_view format = "ptx");
// Returns PTX with entry points of these names.
std::string ptx_with(const std::vector<std::string>& kernels, std::string_view version = "8.4",
                     std::string_view target = "sm_75");

// A plugin instance and its loaded modules.
class World {
 public:
  // library  [in]   value of option `library`
  // options  [in]   values of other options
  explicit World(const std::string& library = fake_library(),
                 const std::map<std::string, std::string>& options = {});
  ~World();
  static std::string fake_library();
  static const gantry_plugin_table& plugin_table();

  const gantry_device_table& device() const { return *plugin_table().devices[0]; }
  void* self() const { return self_; }

  // payload  [in]   copied, and kept for the life of the world, because the fake host's pin keeps
  //                 nothing
  Result<gantry_module> load(const Bytes& payload, std::int32_t generation = 5);
  Result<gantry_function> function(const gantry_module& module, std::string_view name);
  Status call(const gantry_function& function, const std::vector<gantry_value>& args,
              std::int32_t index = 0, void* stream = nullptr);

  // Calls a function of the plugin by its name.
  Status call_named(std::string_view name, const std::vector<gantry_value>& args,
                    const gantry_env& env = {{cuda_type, 0}, nullptr, nullptr, nullptr});

  Result<void*> alloc(std::uint64_t size, std::int32_t index = 0, std::uint64_t alignment = 64);
  void free(void* data, std::int32_t index = 0) { device().free(self_, index, data); }
  Status copy(gantry_location from, gantry_location to, std::uint64_t size,
              std::uint32_t flags = GANTRY_COPY_BLOCKING, void* stream = nullptr,
              std::int32_t index = 0);
  Status synchronize(void* stream = nullptr, std::int32_t index = 0);
  // Blocking copies of a whole vector.
  Status upload(void* to, std::span<const float> from, std::int32_t index = 0);
  Status download(std::span<float> to, void* from, std::int32_t index = 0);
  std::int64_t live_bytes(std::int32_t index = 0);

  gantry::test::FakeHost host;

 private:
  std::vector<std::unique_ptr<const Bytes>> kept_;
  void* self_ = nullptr;
};

inline gantry_location on_host(const void* data, std::uint64_t byte_offset = 0) {
  return {const_cast<void*>(data), byte_offset, {cpu_device_type, 0}};
}
inline gantry_location on_cuda(void* data, std::uint64_t byte_offset = 0, std::int32_t index = 0) {
  return {data, byte_offset, {cuda_type, index}};
}
inline gantry_value pointer_value(void* data) {
  gantry_value value{};
  value.kind = GANTRY_POINTER;
  value.p = data;
  return value;
}

// Resets the fake driver before each test, and checks after it that the driver holds nothing.
class WithFakeDriver : public ::testing::Test {
 protected:
  WithFakeDriver() { fake.reset(); }
  ~WithFakeDriver() override {
    world.reset();
    EXPECT_EQ(fake.live(), "");
    EXPECT_EQ(fake.context_depth(), 0u);
  }
  FakeDriver& fake = fake_driver();
  std::unique_ptr<World> world = std::make_unique<World>();
};

}  // namespace gantry::cuda::test
