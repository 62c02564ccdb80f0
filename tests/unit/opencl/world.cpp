// SPDX-License-Identifier: Apache-2.0
#include "world.hpp"

#include "plugins/opencl/module.hpp"

#include <cstdlib>

#include "tests/support/driver_caches.hpp"
#include "tests/support/generation.hpp"

namespace gantry::opencl::test {
namespace {

// Called before the driver starts.
void prepare_driver() {
  setenv("POCL_DEVICES", "pthread pthread", 0);
  gantry::test::use_driver_caches();
}

}  // namespace

Status Loaded::call(std::string_view name, const std::vector<gantry_value>& args,
                    std::int32_t device, void* stream) const {
  gantry_function function{};
  StatusBuffer found;
  const gantry_code code =
      module_.table->get_function(module_.self, gantry::bytes_of(name), &function, found.get());
  if (code != GANTRY_OK) return found.error(code, "get_function");
  const gantry_env env{{device_type, device}, stream, nullptr, nullptr};
  gantry_value result{};
  StatusBuffer status;
  const gantry_code called =
      function.table->call(function.self, &env, args.data(), static_cast<std::int32_t>(args.size()),
                           &result, status.get());
  if (function.table->destroy != nullptr) function.table->destroy(function.self);
  if (called != GANTRY_OK) return status.error(called, name);
  return {};
}

OpenclTest::OpenclTest() {
  prepare_driver();
  between = {};
  plugin_ = &plugin_table<Plugin>;
}

OpenclTest::~OpenclTest() {
  for (const auto& [device, data] : allocated_) table_.free(self_, device, data);
  if (self_ != nullptr) plugin_->destroy(self_);
  between = {};
}

void OpenclTest::SetUp() {
  restart();
  StatusBuffer status;
  const gantry_code code = table_.count(self_, &device_count_, status.get());
  if (code == GANTRY_UNAVAILABLE) GTEST_SKIP() << status.error(code, "count").message;
  ASSERT_EQ(code, GANTRY_OK) << status.error(code, "count").message;
  if (device_count_ == 0) GTEST_SKIP() << "the OpenCL driver has no device";
}

void OpenclTest::restart() {
  for (const auto& [device, data] : allocated_) table_.free(self_, device, data);
  allocated_.clear();
  if (self_ != nullptr) plugin_->destroy(self_);
  self_ = nullptr;
  ASSERT_EQ(plugin_->create(host_.table(), &self_, nullptr), GANTRY_OK);
}

void OpenclTest::use_cache() {
  host_.options["cache_directory"] = temp_.path().string();
  restart();
}

std::unique_ptr<Loaded> OpenclTest::load(std::vector<std::uint8_t> payload, gantry_object* pin) {
  const gantry_blob blob = gantry::test::payload_blob(payload, 3, true, pin);
  gantry_module module{};
  std::uint64_t consumed = 0;
  StatusBuffer status;
  const gantry_code code = plugin_->loaders[0]->load_binary(self_, &blob, host_.node(), &module,
                                                            &consumed, status.get());
  EXPECT_EQ(code, GANTRY_OK) << status.error(code, "load_binary").message;
  EXPECT_EQ(consumed, payload.size());
  return std::make_unique<Loaded>(module, std::move(payload));
}

void* OpenclTest::memory(std::uint64_t bytes, std::int32_t device) {
  gantry_alloc what{};
  what.struct_size = sizeof what;
  what.size = bytes;
  what.alignment = 128;
  what.dtype = {1, 8, 1};
  void* data = nullptr;
  StatusBuffer status;
  const gantry_code code = table_.alloc(self_, device, &what, &data, status.get());
  EXPECT_EQ(code, GANTRY_OK) << status.error(code, "alloc").message;
  allocated_.emplace_back(device, data);
  return data;
}

void* OpenclTest::floats(const std::vector<float>& values, std::int32_t device) {
  const std::uint64_t bytes = values.size() * sizeof(float);
  void* const data = memory(bytes, device);
  const Status status = copy(on_host(values.data()), on_device(data, 0, device), bytes, device);
  EXPECT_TRUE(status.ok()) << status.error().message;
  return data;
}

std::vector<float> OpenclTest::floats_in(void* data, std::size_t count, std::int32_t device,
                                         void* stream) {
  std::vector<float> values(count, -777);
  const Status status = copy(on_device(data, 0, device), on_host(values.data()),
                             count * sizeof(float), device, GANTRY_COPY_BLOCKING, stream);
  EXPECT_TRUE(status.ok()) << status.error().message;
  return values;
}

Status OpenclTest::copy(gantry_location from, gantry_location to, std::uint64_t bytes,
                        std::int32_t device, std::uint32_t flags, void* stream) {
  gantry_copy what{sizeof what, flags, from, to, bytes};
  StatusBuffer status;
  const gantry_code code = table_.copy(self_, device, &what, stream, status.get());
  if (code != GANTRY_OK) return status.error(code, "copy");
  return {};
}

std::int64_t OpenclTest::attribute(std::int32_t kind, std::int32_t device) {
  gantry_value value{};
  EXPECT_EQ(table_.attribute(self_, device, kind, &value, nullptr), GANTRY_OK) << kind;
  EXPECT_EQ(value.kind, GANTRY_INT) << kind;
  return value.i;
}

Status OpenclTest::synchronize(std::int32_t device, void* stream) {
  StatusBuffer status;
  const gantry_code code = table_.synchronize(self_, device, stream, status.get());
  if (code != GANTRY_OK) return status.error(code, "synchronize");
  return {};
}

}  // namespace gantry::opencl::test
