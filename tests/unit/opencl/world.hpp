// SPDX-License-Identifier: Apache-2.0
//
// Runs the plugin in a fake host with the machine's OpenCL driver; without a driver the tests are
// skipped. PoCL is configured with two devices, so that every machine tests copies between devices.
#pragma once

#include "between.hpp"
#include "payloads.hpp"
#include "plugins/opencl/plugin.hpp"
#include "tests/support/fake_host.hpp"
#include "tests/support/files.hpp"
#include "tests/support/payload_blob.hpp"

#include <gantry/plugin.h>
#include <gantry/handle.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace gantry::opencl::test {

inline gantry_value pointer_value(void* to) {
  gantry_value value{};
  value.kind = GANTRY_POINTER;
  value.p = to;
  return value;
}

inline void expect_error(const Status& status, Code code, std::string_view reason,
                         std::string_view message) {
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, code);
  EXPECT_EQ(status.error().offset, no_offset);
  EXPECT_EQ(status.error().reason, reason);
  EXPECT_EQ(status.error().message, message);
}

// A loaded module. Owns the payload, which the host keeps while the module holds its pin.
class Loaded {
 public:
  Loaded(gantry_module module, std::vector<std::uint8_t> payload)
      : module_(module), payload_(std::move(payload)) {}
  ~Loaded() { destroy(); }
  Loaded(const Loaded&) = delete;
  Loaded& operator=(const Loaded&) = delete;
  void destroy() {
    if (module_.table != nullptr) module_.table->destroy(module_.self);
    module_ = {};
  }
  const gantry_module& get() const { return module_; }
  Status call(std::string_view name, const std::vector<gantry_value>& args, std::int32_t device = 0,
              void* stream = nullptr) const;

 private:
  gantry_module module_;
  std::vector<std::uint8_t> payload_;
};

class OpenclTest : public ::testing::Test {
 protected:
  OpenclTest();
  ~OpenclTest() override;
  void SetUp() override;

  // Destroys the plugin and creates another with the host's current options, like a new process.
  void restart();
  // Enables the disk cache, in a directory of this test.
  void use_cache();
  std::string cache_directory() const { return (temp_ / "opencl").string(); }

  std::unique_ptr<Loaded> load(std::vector<std::uint8_t> payload, gantry_object* pin = nullptr);

  // Loads a module of one kernel.
  std::unique_ptr<Loaded> kernel(const KernelRecord& record, std::string_view body) {
    return load(payload_bytes("cl", {record}, marked(record.name, body)));
  }
  static Error error_of(const Status& status) {
    EXPECT_FALSE(status.ok());
    return status.ok() ? Error() : status.error();
  }

  // Allocates device memory with these values; the test's destructor frees it.
  void* floats(const std::vector<float>& values, std::int32_t device = 0);
  void* memory(std::uint64_t bytes, std::int32_t device = 0);
  std::vector<float> floats_in(void* data, std::size_t count, std::int32_t device = 0,
                               void* stream = nullptr);
  Status copy(gantry_location from, gantry_location to, std::uint64_t bytes,
              std::int32_t device = 0, std::uint32_t flags = GANTRY_COPY_BLOCKING,
              void* stream = nullptr);
  static gantry_location on_host(const void* data, std::uint64_t offset = 0) {
    return {const_cast<void*>(data), offset, {1, 0}};
  }
  static gantry_location on_device(void* data, std::uint64_t offset = 0, std::int32_t device = 0) {
    return {data, offset, {device_type, device}};
  }
  std::int64_t attribute(std::int32_t kind, std::int32_t device = 0);
  Status synchronize(std::int32_t device = 0, void* stream = nullptr);

  const Plugin& plugin() const { return *static_cast<const Plugin*>(self_); }
  Plugin& plugin() { return *static_cast<Plugin*>(self_); }

  gantry::test::FakeHost host_;
  const gantry_plugin_table* plugin_ = nullptr;
  void* self_ = nullptr;
  const gantry_device_table& table_ = device_table<Plugin, DeviceFunctions>;
  std::int32_t device_count_ = 0;

 private:
  const gantry::test::TempDir temp_;
  std::vector<std::pair<std::int32_t, void*>> allocated_;
};

}  // namespace gantry::opencl::test
