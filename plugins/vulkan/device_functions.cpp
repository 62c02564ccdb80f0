// SPDX-License-Identifier: Apache-2.0
#include "device_functions.hpp"

#include "plugin.hpp"

#include <algorithm>

namespace gantry::vulkan {
namespace {

Status check_stream(const Device& device, const Stream* stream) {
  if (stream == nullptr || stream->device == &device) return {};
  return invalid("stream is of device vulkan:", stream->device->index(),
                 ", the call is on vulkan:", device.index())
      .with_reason("STREAM");
}

// An event belongs to the device that created it.
Status check_event(const Device& device, const Event& event) {
  if (event.device == device.handle()) return {};
  return invalid("event is of another device than vulkan:", device.index()).with_reason("EVENT");
}

std::uint64_t local_memory(const Gpu& gpu) {
  std::uint64_t bytes = 0;
  for (std::uint32_t i = 0; i < gpu.memory.memoryHeapCount; ++i) {
    const VkMemoryHeap& heap = gpu.memory.memoryHeaps[i];
    if ((heap.flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) != 0) bytes += heap.size;
  }
  return bytes;
}

// Returns the process's current memory budget minus its usage; requires VK_EXT_memory_budget.
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

}  // namespace

Result<std::int32_t> DeviceFunctions::count(Plugin& plugin) { return plugin.device_count(); }

Result<DeviceFunctions> DeviceFunctions::at(Plugin& plugin, std::int32_t index) {
  GANTRY_TRY(Device* const device, plugin.device(index));
  return DeviceFunctions{*device, device->loss};
}

Result<Attribute> DeviceFunctions::attribute(Plugin& plugin, std::int32_t index,
                                             std::int32_t kind) {
  GANTRY_TRY(const Gpu* const gpu, plugin.gpu(index));
  const VkPhysicalDeviceLimits& limits = gpu->properties.limits;
  switch (kind) {
    case GANTRY_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      return limits.maxComputeWorkGroupInvocations;
    case GANTRY_ATTRIBUTE_WARP_SIZE:
      return gpu->subgroup_size;
    case GANTRY_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK:
      return limits.maxComputeSharedMemorySize;
    case GANTRY_ATTRIBUTE_COMPUTE_VERSION:
      return version_text(gpu->properties.apiVersion);
    case GANTRY_ATTRIBUTE_DEVICE_NAME:
      return gpu->properties.deviceName;
    case GANTRY_ATTRIBUTE_MAX_THREAD_DIMENSIONS:
      return concat('[', limits.maxComputeWorkGroupSize[0], ", ", limits.maxComputeWorkGroupSize[1],
                    ", ", limits.maxComputeWorkGroupSize[2], ']');
    case GANTRY_ATTRIBUTE_API_VERSION:
      return VK_HEADER_VERSION;
    case GANTRY_ATTRIBUTE_DRIVER_VERSION:
      return gpu->driver;
    case GANTRY_ATTRIBUTE_UUID:
      return gpu->uuid.empty() ? Attribute() : Attribute(gpu->uuid);
    case GANTRY_ATTRIBUTE_PCI_ADDRESS:
      return gpu->pci_address.empty() ? Attribute() : Attribute(gpu->pci_address);
    case GANTRY_ATTRIBUTE_VENDOR_ID:
      return gpu->properties.vendorID;
    case GANTRY_ATTRIBUTE_PRODUCT_ID:
      return gpu->properties.deviceID;
    case GANTRY_ATTRIBUTE_TOTAL_GLOBAL_MEMORY:
      return local_memory(*gpu);
    case GANTRY_ATTRIBUTE_AVAILABLE_GLOBAL_MEMORY:
      return gpu->has_memory_budget ? Attribute(available_memory(*gpu)) : Attribute();
    case GANTRY_ATTRIBUTE_ALLOCATED_BYTES: {
      const Device* const device = plugin.started(index);
      return device == nullptr ? 0 : device->allocated_bytes();
    }
    case GANTRY_ATTRIBUTE_ALIGNMENT:
      return limits.minStorageBufferOffsetAlignment;
    case GANTRY_ATTRIBUTE_MAX_ALLOCATION:
      return gpu->max_allocation_bytes;
    default:
      return Attribute();
  }
}

Result<void*> DeviceFunctions::alloc(const gantry_alloc& what) {
  const std::string_view scope = view_of(what.scope);
  if (scope == GANTRY_SCOPE_HOST) return device.alloc_host(what.size, what.alignment);
  if (!scope.empty() && scope != GANTRY_SCOPE_GLOBAL) {
    return unsupported("memory scope \"", scope,
                       "\" is not supported: device vulkan:", device.index(),
                       " has \"global\" and \"host\" only, no textures")
        .with_reason("MEMORY_SCOPE");
  }
  GANTRY_TRY(Buffer* const buffer, device.alloc(what.size));
  return &buffer->cell;
}

Status DeviceFunctions::free(void* data) {
  if (data == nullptr || device.free_host(data)) return {};
  GANTRY_TRY(Buffer* const buffer, device.buffer_at(data));
  device.free(buffer);
  return {};
}

Status DeviceFunctions::copy(const gantry_copy& what, Stream* stream) {
  GANTRY_CHECK(check_stream(device, stream));
  return device.copy(what);
}

Status DeviceFunctions::fill(const DeviceFill& what, Stream* stream) {
  GANTRY_CHECK(check_stream(device, stream));
  GANTRY_TRY(Buffer* const buffer, device.buffer_at(what.data));
  return device.fill(*buffer, what.byte_offset, what.size, what.pattern);
}

Result<void*> DeviceFunctions::memory_import(const gantry_external& what) {
  GANTRY_TRY(Buffer* const buffer, device.import_memory(what));
  return &buffer->cell;
}

Result<void*> DeviceFunctions::host_address(void* data) {
  GANTRY_TRY(const Buffer* const buffer, device.buffer_at(data));
  if (buffer->mapped != nullptr && buffer->is_coherent && buffer->is_cached)
    return static_cast<void*>(buffer->mapped);
  return unsupported("memory of device vulkan:", device.index(),
                     " is not mapped, coherent and cached: copy it")
      .with_reason("HOST_ADDRESS");
}

Status DeviceFunctions::synchronize(Stream* stream) {
  GANTRY_CHECK(check_stream(device, stream));
  return device.synchronize();
}

Status DeviceFunctions::event_record(Event* event, Stream* stream) {
  GANTRY_CHECK(check_stream(device, stream));
  GANTRY_CHECK(check_event(device, *event));
  return device.record(*event);
}

// All streams run in the order of recording, so later work runs after the event without a wait.
Status DeviceFunctions::event_wait(Event* event, Stream* stream) {
  GANTRY_CHECK(check_stream(device, stream));
  return check_event(device, *event);
}

Result<std::int64_t> DeviceFunctions::event_elapsed(Event* start, Event* stop) {
  GANTRY_CHECK(check_event(device, *start));
  GANTRY_CHECK(check_event(device, *stop));
  return device.nanoseconds_between(*start, *stop);
}

Result<bool> DeviceFunctions::event_reached(Event* event, std::int64_t timeout_ns) {
  GANTRY_CHECK(check_event(device, *event));
  return device.is_reached(*event, timeout_ns);
}

// A stream is none of Vulkan's objects.
Result<void*> DeviceFunctions::native_get(std::int32_t kind, void* object) const {
  if (kind == GANTRY_NATIVE_CONTEXT) return static_cast<void*>(device.handle());
  if (kind != GANTRY_NATIVE_MEMORY) return no_native_handle("vulkan", kind);
  GANTRY_TRY(const Buffer* const buffer, device.buffer_at(object));
  return reinterpret_cast<void*>(buffer->handle);
}

}  // namespace gantry::vulkan
