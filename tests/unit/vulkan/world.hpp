// SPDX-License-Identifier: Apache-2.0
//
// Runs the plugin on the machine's first Vulkan device with the validation layer, whose messages
// fail the test.
#pragma once

#include "plugins/vulkan/plugin.hpp"
#include "tests/support/fake_host.hpp"
#include "tests/support/payload_blob.hpp"
#include "tests/unit/vulkan/spirv.hpp"

#include <gantry/handle.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace gantry::vulkan::test {

// Without a device the test is skipped with the plugin's error.
class World : public ::testing::Test {
 protected:
  void SetUp() override { start({}); }
  void TearDown() override { stop(); }

  // Starts or restarts the plugin, with the validation layer if it is installed.
  void start(Options options, std::string cache_directory = {});
  // Destroys the plugin. Fails the test if memory is still allocated, work is still in flight or
  // the layer has logged a message. Ends the simulation of a late device.
  void stop();

  Device& device() { return *plugin->device(0).value(); }

  // Functions of the device table; they return errors as Status or Result.
  Result<void*> alloc(std::uint64_t size, std::string_view scope = {});
  void free(void* data) { table_.free(plugin.get(), 0, data); }
  Status copy(gantry_location from, gantry_location to, std::uint64_t size, std::int32_t index = 0);
  Status synchronize(void* stream = nullptr);
  Result<Value> attribute(std::int32_t kind, std::int32_t index = 0);

  static gantry_location on_host(const void* data, std::uint64_t offset = 0) {
    return {const_cast<void*>(data), offset, {1, 0}};
  }
  static gantry_location on_device(void* data, std::uint64_t offset = 0) {
    return {data, offset, {7, 0}};
  }
  // Allocates device memory that contains these numbers.
  template <class T>
  void* holding(const std::vector<T>& numbers) {
    void* const data = alloc(numbers.size() * sizeof(T)).value();
    EXPECT_TRUE(copy(on_host(numbers.data()), on_device(data), numbers.size() * sizeof(T)).ok());
    return data;
  }
  template <class T>
  std::vector<T> read(void* data, std::size_t count) {
    std::vector<T> numbers(count);
    const auto copied = copy(on_device(data), on_host(numbers.data()), count * sizeof(T));
    EXPECT_TRUE(copied.ok()) << copied.error().message;
    return numbers;
  }

  // Loads a payload.
  //
  // bytes    [in]   borrowed by the module
  Result<std::unique_ptr<Module>> load(std::span<const std::uint8_t> bytes,
                                       std::int32_t generation);
  Status call(Module& module, std::string_view kernel, const std::vector<gantry_value>& args);

  gantry::test::FakeHost host;
  std::unique_ptr<Plugin> plugin;
  const gantry_device_table& table_ = device_table<Plugin, DeviceFunctions>;
  const gantry_loader_table& loader_ = loader_table<Plugin, Module>;
  // True: the validation layer is active.
  bool is_watched = false;

 private:
  gantry_object* pin_ = nullptr;
};

gantry_value pointer_value(void* data);

// Returns the arguments of axpy2 of v0.12, C = A + 2 * B over n elements in blocks of 64: C, A, B,
// n, three strides, blocks, threads.
std::vector<gantry_value> axpy2_args(void* c, void* a, void* b, std::int64_t n);

}  // namespace gantry::vulkan::test
