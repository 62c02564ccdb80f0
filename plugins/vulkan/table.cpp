// SPDX-License-Identifier: Apache-2.0
//
// The device table: what the host calls, and the facts about a device.
#include "plugin.hpp"

#include <gantry/abi_boundary.hpp>

#include <algorithm>
#include <utility>

namespace gantry::vulkan {
namespace {

Plugin& plugin_at(void* self) { return *static_cast<Plugin*>(self); }

// Streams carry no state: what is recorded runs in one order, so each is only told from the other devices'.
struct Stream {
  Device* device;
};

Status check_stream(const Device& device, void* stream) {
  if (stream == nullptr || static_cast<Stream*>(stream)->device == &device) return {};
  return invalid("stream is of device vulkan:", static_cast<Stream*>(stream)->device->index(),
                 ", the call is on vulkan:", device.index())
      .with_reason("STREAM");
}

// The body of a call for one device.
//
// body     [in]   Status body(Device&)
template <class Body>
gantry_code on_device(void* self, std::int32_t index, gantry_status* status, Body&& body) {
  return abi_boundary(status, [&]() -> Status {
    GANTRY_TRY(Device* const device, plugin_at(self).device(index));
    return body(*device);
  });
}

gantry_code count(void* self, std::int32_t* count, gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    GANTRY_TRY(*count, plugin_at(self).device_count());
    return {};
  });
}

std::uint64_t local_memory(const Gpu& gpu) {
  std::uint64_t bytes = 0;
  for (std::uint32_t i = 0; i < gpu.memory.memoryHeapCount; ++i) {
    const VkMemoryHeap& heap = gpu.memory.memoryHeaps[i];
    if ((heap.flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) != 0) bytes += heap.size;
  }
  return bytes;
}

// What the driver grants this process now, less what it uses; with VK_EXT_memory_budget only.
std::uint64_t available_memory(const Gpu& gpu) {
  VkPhysicalDeviceMemoryBudgetPropertiesEXT budget{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT};
  VkPhysicalDeviceMemoryProperties2 memory{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2, &budget, {}};
  vkGetPhysicalDeviceMemoryProperties2(gpu.handle, &memory);
  std::uint64_t bytes = 0;
  for (std::uint32_t i = 0; i < gpu.memory.memoryHeapCount; ++i) {
    if ((gpu.memory.memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) != 0)
      bytes += budget.heapBudget[i] - std::min(budget.heapBudget[i], budget.heapUsage[i]);
  }
  return bytes;
}

std::string version_text(std::uint32_t version) {
  return concat(VK_API_VERSION_MAJOR(version), '.', VK_API_VERSION_MINOR(version), '.',
                VK_API_VERSION_PATCH(version));
}

Result<Value> text(const Plugin& plugin, std::string_view text) { return plugin.host().text(text); }
Result<Value> number(const Plugin&, std::uint64_t number) {
  return Value::adopt(int_value(static_cast<std::int64_t>(number)));
}

// source   spec: executors 3.2; what Vulkan does not tell is NOT_FOUND
Result<Value> fact(const Plugin& plugin, const Gpu& gpu, std::int32_t index, std::int32_t kind) {
  const VkPhysicalDeviceLimits& limits = gpu.properties.limits;
  switch (kind) {
    case GANTRY_ATTRIBUTE_EXISTS:
      return number(plugin, 1);
    case GANTRY_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      return number(plugin, limits.maxComputeWorkGroupInvocations);
    case GANTRY_ATTRIBUTE_WARP_SIZE:
      return number(plugin, gpu.subgroup_size);
    case GANTRY_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK:
      return number(plugin, limits.maxComputeSharedMemorySize);
    case GANTRY_ATTRIBUTE_COMPUTE_VERSION:
      return text(plugin, version_text(gpu.properties.apiVersion));
    case GANTRY_ATTRIBUTE_DEVICE_NAME:
      return text(plugin, gpu.properties.deviceName);
    case GANTRY_ATTRIBUTE_MAX_THREAD_DIMENSIONS:
      return text(plugin, concat('[', limits.maxComputeWorkGroupSize[0], ", ",
                                 limits.maxComputeWorkGroupSize[1], ", ",
                                 limits.maxComputeWorkGroupSize[2], ']'));
    case GANTRY_ATTRIBUTE_API_VERSION:
      return number(plugin, VK_HEADER_VERSION);
    case GANTRY_ATTRIBUTE_DRIVER_VERSION:
      return text(plugin, gpu.driver);
    case GANTRY_ATTRIBUTE_TOTAL_GLOBAL_MEMORY:
      return number(plugin, local_memory(gpu));
    case GANTRY_ATTRIBUTE_AVAILABLE_GLOBAL_MEMORY:
      if (gpu.has_memory_budget) return number(plugin, available_memory(gpu));
      break;
    case GANTRY_ATTRIBUTE_ALLOCATED_BYTES: {
      const Device* const device = plugin.started(index);
      return number(plugin,
                    device == nullptr ? 0 : static_cast<std::uint64_t>(device->allocated_bytes()));
    }
    default:
      break;
  }
  return not_found("attribute ", kind, " does not apply to device vulkan:", index);
}

gantry_code attribute(void* self, std::int32_t index, std::int32_t kind, gantry_value* out,
                      gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    Plugin& plugin = plugin_at(self);
    const auto gpu = plugin.gpu(index);
    if (!gpu.ok() && kind == GANTRY_ATTRIBUTE_EXISTS) {
      *out = int_value(0);
      return {};
    }
    if (!gpu.ok()) return gpu.error();
    GANTRY_TRY(Value value, fact(plugin, **gpu, index, kind));
    *out = value.take();
    return {};
  });
}

gantry_code alloc(void* self, std::int32_t index, const gantry_alloc* what, void** data,
                  gantry_status* status) {
  return on_device(self, index, status, [&](Device& device) -> Status {
    const std::string_view scope = view_of(what->scope);
    if (!scope.empty() && scope != "global") {
      return unsupported("memory scope \"", scope, "\" is not supported: device vulkan:", index,
                         " has \"global\" only, no textures")
          .with_reason("SCOPE");
    }
    GANTRY_TRY(Buffer* const buffer, device.alloc(what->size));
    *data = &buffer->cell;
    return {};
  });
}

void free(void* self, std::int32_t index, void* data) {
  Device* const device = plugin_at(self).started(index);
  if (device == nullptr) return;
  const auto buffer = device->buffer_at(data);
  if (buffer.ok()) {
    device->free(*buffer);
  } else if (data != nullptr) {
    plugin_at(self).host().log(GANTRY_LOG_ERROR, concat("free: ", buffer.error().message));
  }
}

gantry_code copy(void* self, std::int32_t index, const gantry_copy* what, void* stream,
                 gantry_status* status) {
  return on_device(self, index, status, [&](Device& device) -> Status {
    GANTRY_CHECK(check_stream(device, stream));
    return device.copy(*what);
  });
}

gantry_code synchronize(void* self, std::int32_t index, void* stream, gantry_status* status) {
  return on_device(self, index, status, [&](Device& device) -> Status {
    GANTRY_CHECK(check_stream(device, stream));
    return device.synchronize();
  });
}

gantry_code stream_create(void* self, std::int32_t index, std::uint32_t, void** stream,
                          gantry_status* status) {
  return on_device(self, index, status, [&](Device& device) -> Status {
    *stream = new Stream{&device};
    return {};
  });
}

void stream_destroy(void*, std::int32_t, void* stream) { delete static_cast<Stream*>(stream); }

gantry_code event_create(void* self, std::int32_t index, std::uint32_t, void** event,
                         gantry_status* status) {
  return on_device(self, index, status, [&](Device& device) -> Status {
    GANTRY_TRY(auto made, device.new_event());
    *event = made.release();
    return {};
  });
}

void event_destroy(void* self, std::int32_t index, void* event) {
  std::unique_ptr<Event> owned(static_cast<Event*>(event));
  if (Device* const device = plugin_at(self).started(index)) device->discard(std::move(owned));
}

// An event is used with the device that made it.
Status check_event(const Device& device, const Event& event) {
  if (event.device == device.handle()) return {};
  return invalid("event is of another device than vulkan:", device.index()).with_reason("EVENT");
}

gantry_code event_record(void* self, std::int32_t index, void* event, void* stream,
                         gantry_status* status) {
  return on_device(self, index, status, [&](Device& device) -> Status {
    Event& mark = *static_cast<Event*>(event);
    GANTRY_CHECK(check_stream(device, stream));
    GANTRY_CHECK(check_event(device, mark));
    return device.record(mark);
  });
}

// What comes later runs later, in every stream: there is nothing to wait for.
gantry_code event_wait(void* self, std::int32_t index, void* event, void* stream,
                       gantry_status* status) {
  return on_device(self, index, status, [&](Device& device) -> Status {
    GANTRY_CHECK(check_stream(device, stream));
    return check_event(device, *static_cast<Event*>(event));
  });
}

gantry_code event_elapsed(void* self, std::int32_t index, void* start, void* stop, std::int64_t* ns,
                          gantry_status* status) {
  return on_device(self, index, status, [&](Device& device) -> Status {
    GANTRY_CHECK(check_event(device, *static_cast<Event*>(start)));
    GANTRY_CHECK(check_event(device, *static_cast<Event*>(stop)));
    GANTRY_TRY(*ns,
               device.nanoseconds_between(*static_cast<Event*>(start), *static_cast<Event*>(stop)));
    return {};
  });
}

}  // namespace

const gantry_device_table device_table = {
    .struct_size = sizeof(gantry_device_table),
    .flags = GANTRY_DEVICE_OPAQUE_DATA,
    .name = "vulkan",
    .type = vulkan_type,
    .zero = 0,
    .count = count,
    .attribute = attribute,
    .alloc = alloc,
    .free = free,
    .copy = copy,
    .synchronize = synchronize,
    .stream_create = stream_create,
    .stream_destroy = stream_destroy,
    .event_create = event_create,
    .event_destroy = event_destroy,
    .event_record = event_record,
    .event_wait = event_wait,
    .event_elapsed = event_elapsed,
    .capture_begin = nullptr,
    .capture_end = nullptr,
    .capture_launch = nullptr,
    .capture_destroy = nullptr,
};

}  // namespace gantry::vulkan
