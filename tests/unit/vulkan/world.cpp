// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/vulkan/world.hpp"
#include "tests/unit/vulkan/between.hpp"

#include <gmock/gmock.h>

#include <utility>

// Drivers keep memory for the life of the process, mainly for their compilers.
extern "C" [[gnu::visibility("default")]] const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() {
  return "leak:libvulkan\nleak:libLLVM\nleak:libVkLayer\n";
}

namespace gantry::vulkan::test {
namespace {

// The loader unmaps drivers and layers with the last instance; the leak sanitizer could not
// attribute their leaks to a library then. One instance for the life of the process keeps the
// suppressions effective.
void keep_drivers() {
#ifdef __SANITIZE_ADDRESS__
  static const VkInstance kept = [] {
    const char* const layer = "VK_LAYER_KHRONOS_validation";
    VkInstanceCreateInfo info{VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO};
    info.enabledLayerCount = 1;
    info.ppEnabledLayerNames = &layer;
    VkInstance instance = VK_NULL_HANDLE;
    std::uint32_t count = 0;
    if (vkCreateInstance(&info, nullptr, &instance) != VK_SUCCESS) {
      info.enabledLayerCount = 0;
      if (vkCreateInstance(&info, nullptr, &instance) != VK_SUCCESS) return instance;
    }
    vkEnumeratePhysicalDevices(instance, &count, nullptr);
    return instance;
  }();
  (void)kept;
#endif
}

}  // namespace

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;

void World::start(Options options, std::string cache_directory) {
  stop();
  keep_drivers();
  if (pin_ == nullptr) pin_ = host.new_pin();
  options.validation = true;
  plugin = std::make_unique<Plugin>(Host(host.table()), options, cache_directory);
  auto count = plugin->device_count();
  if (!count.ok() && count.error().reason == "LAYER_MISSING") {
    options.validation = false;
    plugin = std::make_unique<Plugin>(Host(host.table()), options, std::move(cache_directory));
    count = plugin->device_count();
  }
  is_watched = options.validation;
  if (!count.ok()) GTEST_SKIP() << count.error().message;
  if (*count == 0) GTEST_SKIP() << plugin->gpu(0).error().message;
}

void World::stop() {
  if (plugin) {
    if (const Device* const device = plugin->started(0)) {
      EXPECT_EQ(device->allocated_bytes(), 0) << "memory that the test has not freed";
    }
    plugin.reset();
    EXPECT_TRUE(between.submitted.empty()) << "the device did not wait for its work";
    EXPECT_THAT(host.log, Each(Not(HasSubstr("validation:"))));
  }
  between.is_late = false;
  if (pin_ != nullptr) {
    host.release(std::exchange(pin_, nullptr));
    EXPECT_EQ(host.live_objects(), 0);
  }
}

Result<void*> World::alloc(std::uint64_t size, std::string_view scope) {
  gantry_alloc what{};
  what.struct_size = sizeof what;
  what.size = size;
  what.alignment = 128;
  what.scope = bytes_of(scope);
  void* data = nullptr;
  StatusBuffer status;
  const gantry_code code = table_.alloc(plugin.get(), 0, &what, &data, status.get());
  if (code != GANTRY_OK) return status.error(code, "alloc");
  return data;
}

Status World::copy(gantry_location from, gantry_location to, std::uint64_t size,
                   std::int32_t index) {
  gantry_copy what{};
  what.struct_size = sizeof what;
  what.flags = GANTRY_COPY_BLOCKING;
  what.from = from;
  what.to = to;
  what.size = size;
  StatusBuffer status;
  const gantry_code code = table_.copy(plugin.get(), index, &what, nullptr, status.get());
  if (code != GANTRY_OK) return status.error(code, "copy");
  return {};
}

Status World::synchronize(void* stream) {
  StatusBuffer status;
  const gantry_code code = table_.synchronize(plugin.get(), 0, stream, status.get());
  if (code != GANTRY_OK) return status.error(code, "synchronize");
  return {};
}

Result<Value> World::attribute(std::int32_t kind, std::int32_t index) {
  gantry_value value{};
  StatusBuffer status;
  const gantry_code code = table_.attribute(plugin.get(), index, kind, &value, status.get());
  if (code != GANTRY_OK) return status.error(code, "attribute");
  return Value::adopt(value);
}

Result<std::unique_ptr<Module>> World::load(std::span<const std::uint8_t> bytes,
                                            std::int32_t generation) {
  const gantry_blob raw = gantry::test::payload_blob(bytes, generation, false, pin_);
  Blob blob(raw);
  return Module::load(*plugin, blob);
}

Status World::call(Module& module, std::string_view kernel, const std::vector<gantry_value>& args) {
  GANTRY_TRY(LoadedKernel* const found, module.find(kernel));
  if (found == nullptr) return not_found("test: no kernel ", kernel);
  const gantry_env env{{7, 0}, nullptr, nullptr, nullptr};
  return found->call(Call{{}, &env, args});
}

gantry_value pointer_value(void* data) {
  gantry_value value{};
  value.kind = GANTRY_POINTER;
  value.p = data;
  return value;
}

std::vector<gantry_value> axpy2_args(void* c, void* a, void* b, std::int64_t n) {
  return {pointer_value(c), pointer_value(a), pointer_value(b),         int_value(n), int_value(1),
          int_value(1),     int_value(1),     int_value((n + 63) / 64), int_value(64)};
}

}  // namespace gantry::vulkan::test
