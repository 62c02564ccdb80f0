// SPDX-License-Identifier: Apache-2.0
#include "under_test.hpp"

#include "tests/support/built_plugins.hpp"
#include "tests/support/driver_caches.hpp"

#include <cstdlib>
#include <utility>

namespace gantry::conformance {

std::string path_of(const UnderTest& device) {
  const std::string_view name = device.artifact;
  if (name.starts_with('/')) return std::string(name);
  if (name.find('/') != std::string_view::npos) return test::golden(name).string();
  return (test::build_tree() / "tests/conformance" / name).string();
}

Result<Runtime> make_runtime(bool trace,
                             std::function<void(std::uint64_t, std::string_view)> works) {
  // Caches are not in the home directory.
  const std::string cache = (test::build_tree() / "tests/conformance/cache").string();
  setenv("XDG_CACHE_HOME", cache.c_str(), 1);
  test::use_driver_caches();
  RuntimeOptions options;
  options.plugin_paths = {test::built_plugins(),
                          (test::build_tree() / "tests/conformance/plugins.d").string()};
  options.only_these_plugins = true;
  options.threads = 2;
  options.trace = trace;
  options.work_sink = std::move(works);
  return Runtime::create(options);
}

void DeviceTest::SetUp() {
  ASSERT_TRUE(runtime.ok()) << runtime.error().message;
  const auto id = runtime->device(name());
  if (!id.ok()) GTEST_SKIP() << "no " << name() << ": " << id.error().message;
  device = runtime->device_table(*id).value();
}

std::int32_t DeviceTest::count() const {
  std::int32_t count = 0;
  const Status done = table([&](const auto& t, void* self, gantry_status* failure) {
    return t.count(self, &count, failure);
  });
  EXPECT_TRUE(done.ok()) << done.error().message;
  return count;
}

Result<void*> DeviceTest::alloc(std::uint64_t size, std::uint64_t alignment, std::string_view scope,
                                std::int32_t index) const {
  gantry_alloc what{};
  what.struct_size = sizeof what;
  what.size = size;
  what.alignment = alignment;
  what.dtype = {1, 8, 1};
  what.scope = {scope.data(), scope.size()};
  void* data = nullptr;
  GANTRY_CHECK(table([&](const auto& t, void* self, gantry_status* failure) {
    return t.alloc(self, index, &what, &data, failure);
  }));
  return data;
}

Status DeviceTest::copy(const gantry_location& from, const gantry_location& to, std::uint64_t size,
                        std::uint32_t flags, void* stream, std::int32_t index) const {
  gantry_copy what{};
  what.struct_size = sizeof what;
  what.flags = flags;
  what.from = from;
  what.to = to;
  what.size = size;
  return table([&](const auto& t, void* self, gantry_status* failure) {
    return t.copy(self, index, &what, stream, failure);
  });
}

Status DeviceTest::synchronize(void* stream, std::int32_t index) const {
  return table([&](const auto& t, void* self, gantry_status* failure) {
    return t.synchronize(self, index, stream, failure);
  });
}

Result<std::optional<Any>> DeviceTest::attribute(std::int32_t index, std::int32_t kind) const {
  gantry_value value{};
  Status called = table([&](const auto& t, void* self, gantry_status* failure) {
    return t.attribute(self, index, kind, &value, failure);
  });
  if (called.ok()) return std::optional(Any(Value::adopt(value)));
  if (called.error().code == Code::not_found) return std::optional<Any>();
  return std::move(called).error();
}

std::int64_t DeviceTest::allocated_bytes() const {
  const auto value = attribute(0, GANTRY_ATTRIBUTE_ALLOCATED_BYTES);
  EXPECT_TRUE(value.ok() && *value) << "attribute 1000 has no value";
  return value.ok() && *value ? (*value)->integer().value() : -1;
}

Tensor DeviceTest::vector(std::int64_t size, float first, float step, std::int32_t index) {
  const std::int64_t shape[] = {size};
  Tensor host = runtime->tensor(shape, {2, 32, 1}).value();
  float value = first;
  for (float& element : host.elements<float>()) element = value, value += step;
  Tensor there = runtime->tensor(shape, {2, 32, 1}, name(index)).value();
  const Status copied = runtime->copy(host, there);
  EXPECT_TRUE(copied.ok()) << copied.error().message;
  return there;
}

std::vector<float> DeviceTest::elements(const Tensor& tensor) {
  Tensor host = runtime->tensor(tensor.shape(), tensor.dtype()).value();
  const Status copied = runtime->copy(tensor, host);
  EXPECT_TRUE(copied.ok()) << copied.error().message;
  const auto all = host.elements<float>();
  return {all.begin(), all.end()};
}

Function DeviceTest::axpy2() {
  auto module = runtime->load(path_of(GetParam()));
  EXPECT_TRUE(module.ok()) << module.error().message;
  auto function = module->function("axpy2");
  EXPECT_TRUE(function.ok()) << function.error().message;
  return std::move(function).value();
}

std::vector<std::uint8_t> pattern(std::size_t size, std::uint32_t seed) {
  std::vector<std::uint8_t> bytes(size);
  for (std::size_t i = 0; i < size; ++i)
    bytes[i] = static_cast<std::uint8_t>((i * 2654435761u + seed) >> 13);
  return bytes;
}

TestStream::TestStream(const gantry_device& device, std::int32_t index)
    : device_(device), index_(index) {
  StatusBuffer status;
  const gantry_code code = status.call([&](gantry_status* failure) {
    return device.table->stream_create(device.self, index, 0, &stream_, failure);
  });
  absent_ = code == GANTRY_UNSUPPORTED;
  EXPECT_TRUE(code == GANTRY_OK || absent_) << status.error(code, "stream_create").message;
}
TestStream::~TestStream() {
  if (stream_ != nullptr) device_.table->stream_destroy(device_.self, index_, stream_);
}

TestEvent::TestEvent(const gantry_device& device, std::int32_t index)
    : device_(device), index_(index) {
  StatusBuffer status;
  const gantry_code code = status.call([&](gantry_status* failure) {
    return device.table->event_create(device.self, index, 0, &event_, failure);
  });
  absent_ = code == GANTRY_UNSUPPORTED;
  EXPECT_TRUE(code == GANTRY_OK || absent_) << status.error(code, "event_create").message;
}
TestEvent::~TestEvent() {
  if (!absent_) device_.table->event_destroy(device_.self, index_, event_);
}

}  // namespace gantry::conformance
