// SPDX-License-Identifier: Apache-2.0
#include "device_functions.hpp"

#include "plugin.hpp"

#include <gantry/hardware_id.hpp>
#include <gantry/poll.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <iterator>
#include <utility>

namespace gantry::cuda {
namespace {

// The properties that the driver reports as a number.
struct DriverAttribute {
  std::int32_t kind;
  CUdevice_attribute attribute;
};
constexpr DriverAttribute driver_attributes[] = {
    {GANTRY_ATTRIBUTE_MAX_THREADS_PER_BLOCK, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK},
    {GANTRY_ATTRIBUTE_WARP_SIZE, CU_DEVICE_ATTRIBUTE_WARP_SIZE},
    {GANTRY_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK},
    {GANTRY_ATTRIBUTE_MAX_CLOCK_RATE, CU_DEVICE_ATTRIBUTE_CLOCK_RATE},
    {GANTRY_ATTRIBUTE_MULTIPROCESSOR_COUNT, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT},
    {GANTRY_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK},
    {GANTRY_ATTRIBUTE_L2_CACHE_SIZE, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE},
    // 1: kernels use any memory of the host. The driver does not say whether the host uses the device's.
    {GANTRY_ATTRIBUTE_SHARED_ADDRESSES,
     CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES},
};
constexpr std::int32_t other_attributes[] = {GANTRY_ATTRIBUTE_COMPUTE_VERSION,
                                             GANTRY_ATTRIBUTE_DEVICE_NAME,
                                             GANTRY_ATTRIBUTE_MAX_THREAD_DIMENSIONS,
                                             GANTRY_ATTRIBUTE_DRIVER_VERSION,
                                             GANTRY_ATTRIBUTE_API_VERSION,
                                             GANTRY_ATTRIBUTE_ALLOCATED_BYTES,
                                             GANTRY_ATTRIBUTE_TOTAL_GLOBAL_MEMORY,
                                             GANTRY_ATTRIBUTE_AVAILABLE_GLOBAL_MEMORY,
                                             GANTRY_ATTRIBUTE_UUID,
                                             GANTRY_ATTRIBUTE_PCI_ADDRESS,
                                             GANTRY_ATTRIBUTE_NUMA_NODE,
                                             GANTRY_ATTRIBUTE_VENDOR_ID};

Result<std::string> thread_dimensions(const Driver& driver, CUdevice device) {
  GANTRY_TRY(const int x, number_of(driver, device, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X));
  GANTRY_TRY(const int y, number_of(driver, device, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y));
  GANTRY_TRY(const int z, number_of(driver, device, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z));
  return concat('[', x, ", ", y, ", ", z, ']');
}

// PCI's
constexpr int nvidia = 0x10de;

Result<Attribute> uuid_of(const Driver& driver, CUdevice device) {
  if (driver.device_get_uuid.function == nullptr) return Attribute();
  CUuuid uuid{};
  GANTRY_CHECK(driver.call(driver.device_get_uuid, &uuid, device));
  std::array<std::uint8_t, 16> bytes{};
  std::memcpy(bytes.data(), uuid.bytes, bytes.size());
  std::string text = uuid_text(bytes);
  return text.empty() ? Attribute() : Attribute(std::move(text));
}

// "0000:65:00.0"; the driver returns capitals.
Result<Attribute> pci_address_of(const Driver& driver, CUdevice device) {
  char address[32] = {};
  GANTRY_CHECK(driver.call(driver.device_get_pci_bus_id, &address[0],
                           static_cast<int>(sizeof address), device));
  address[sizeof address - 1] = 0;
  std::string text(address);
  for (char& c : text) {
    if (c >= 'A' && c <= 'F') c = static_cast<char>(c - 'A' + 'a');
  }
  return Attribute(std::move(text));
}

// Drivers before CUDA 12.2 do not know the property; -1: the system has no nodes.
Result<Attribute> numa_node_of(const Driver& driver, CUdevice device) {
  constexpr auto host_numa_id = static_cast<CUdevice_attribute>(134);
  int node = -1;
  const CUresult result = driver.device_get_attribute.function(&node, host_numa_id, device);
  if (result != CUDA_SUCCESS && result != CUDA_ERROR_INVALID_VALUE)
    return driver.failed(driver.device_get_attribute.name, result);
  return result == CUDA_SUCCESS && node >= 0 ? Attribute(node) : Attribute();
}

}  // namespace

Result<std::int32_t> DeviceFunctions::count(Plugin& plugin) {
  GANTRY_TRY(const Driver* const driver, plugin.gpus.driver());
  return std::min<std::int32_t>(driver->device_count(), Devices::max);
}

Result<DeviceFunctions> DeviceFunctions::at(Plugin& plugin, std::int32_t index) {
  GANTRY_TRY(Device* const device, plugin.gpus.at(index));
  GANTRY_TRY(ContextScope scope, device->enter());
  return DeviceFunctions{plugin.gpus, *device, device->driver, std::move(scope), device->loss};
}

Result<Attribute> DeviceFunctions::attribute(Plugin& plugin, std::int32_t index,
                                             std::int32_t kind) {
  const auto* const numbered = std::ranges::find(driver_attributes, kind, &DriverAttribute::kind);
  const bool is_number = numbered != std::end(driver_attributes);
  // Other properties do not apply to GPUs.
  if (!is_number && std::ranges::count(other_attributes, kind) == 0) return Attribute();
  Devices& devices = plugin.gpus;
  GANTRY_TRY(const CUdevice handle, devices.handle(index));
  GANTRY_TRY(const Driver* const driver, devices.driver());
  if (is_number) {
    GANTRY_TRY(const int number, number_of(*driver, handle, numbered->attribute));
    return Attribute(number);
  }
  switch (kind) {
    case GANTRY_ATTRIBUTE_COMPUTE_VERSION: {
      GANTRY_TRY(const Architecture architecture, architecture_of(*driver, handle));
      return Attribute(concat(architecture.major, '.', architecture.minor));
    }
    case GANTRY_ATTRIBUTE_DEVICE_NAME: {
      GANTRY_TRY(std::string name, name_of(*driver, handle));
      return Attribute(std::move(name));
    }
    case GANTRY_ATTRIBUTE_MAX_THREAD_DIMENSIONS: {
      GANTRY_TRY(std::string dimensions, thread_dimensions(*driver, handle));
      return Attribute(std::move(dimensions));
    }
    case GANTRY_ATTRIBUTE_DRIVER_VERSION:
      return Attribute(driver->version_text());
    case GANTRY_ATTRIBUTE_API_VERSION:
      return Attribute(CUDA_VERSION);
    case GANTRY_ATTRIBUTE_UUID:
      return uuid_of(*driver, handle);
    case GANTRY_ATTRIBUTE_PCI_ADDRESS:
      return pci_address_of(*driver, handle);
    case GANTRY_ATTRIBUTE_NUMA_NODE:
      return numa_node_of(*driver, handle);
    case GANTRY_ATTRIBUTE_VENDOR_ID:
      return Attribute(nvidia);
    case GANTRY_ATTRIBUTE_ALLOCATED_BYTES:
      return Attribute(devices.live_bytes(index));
    case GANTRY_ATTRIBUTE_TOTAL_GLOBAL_MEMORY: {
      std::size_t bytes = 0;
      GANTRY_CHECK(driver->call(driver->device_total_mem, &bytes, handle));
      return Attribute(bytes);
    }
    case GANTRY_ATTRIBUTE_AVAILABLE_GLOBAL_MEMORY: {
      GANTRY_TRY(const DeviceFunctions opened, at(plugin, index));
      std::size_t available = 0;
      std::size_t total = 0;
      GANTRY_CHECK(driver->call(driver->mem_get_info, &available, &total));
      return Attribute(available);
    }
    default:
      return Attribute();
  }
}

Result<void*> DeviceFunctions::alloc(const gantry_alloc& what) {
  Result<void*> made = device.memory.alloc(what, device.stream_of(what.stream));
  if (!made.ok()) made.error().at("on ", device.text());
  return made;
}

Status DeviceFunctions::fill(const DeviceFill& what, CUstream stream) {
  if (what.size == 0) return {};
  const CUdeviceptr first = reinterpret_cast<CUdeviceptr>(what.data) + what.byte_offset;
  const CUstream in = device.stream_of(stream);
  const std::size_t count = what.size / what.pattern.size();
  if (what.pattern.size() == 1)
    return driver.call(driver.fill_1, first, what.pattern[0], count, in);
  if (what.pattern.size() == 2) {
    unsigned short pattern = 0;
    std::memcpy(&pattern, what.pattern.data(), sizeof pattern);
    return driver.call(driver.fill_2, first, pattern, count, in);
  }
  unsigned pattern = 0;
  std::memcpy(&pattern, what.pattern.data(), sizeof pattern);
  return driver.call(driver.fill_4, first, pattern, count, in);
}

Status DeviceFunctions::synchronize(CUstream stream) {
  GANTRY_CHECK(driver.call(driver.stream_synchronize, device.stream_of(stream)));
  device.finished(stream);
  return {};
}

Result<CUstream> DeviceFunctions::stream_create() {
  CUstream made = nullptr;
  GANTRY_CHECK(
      driver.call(driver.stream_create, &made, static_cast<unsigned>(CU_STREAM_NON_BLOCKING)));
  return made;
}

// Does not wait: the driver frees a stream after its last command.
Status DeviceFunctions::stream_destroy(CUstream stream) {
  if (stream == nullptr || device.forget_imported(stream)) return {};
  device.forget(stream);
  return driver.call(driver.stream_destroy, stream);
}

Result<CUevent> DeviceFunctions::event_create(std::uint32_t flags) {
  const bool is_timed = (flags & GANTRY_EVENT_UNTIMED) == 0;
  CUevent made = nullptr;
  GANTRY_CHECK(
      driver.call(driver.event_create, &made,
                  static_cast<unsigned>(is_timed ? CU_EVENT_DEFAULT : CU_EVENT_DISABLE_TIMING)));
  return made;
}

Status DeviceFunctions::event_destroy(CUevent event) {
  if (event == nullptr) return {};
  return driver.call(driver.event_destroy, event);
}

Status DeviceFunctions::event_record(CUevent event, CUstream stream) {
  return driver.call(driver.event_record, event, device.stream_of(stream));
}

Status DeviceFunctions::event_wait(CUevent event, CUstream stream) {
  return driver.call(driver.stream_wait_event, device.stream_of(stream), event, 0u);
}

Result<std::int64_t> DeviceFunctions::event_elapsed(CUevent start, CUevent stop) {
  GANTRY_CHECK(driver.call(driver.event_synchronize, stop));
  float milliseconds = 0;
  GANTRY_CHECK(driver.call(driver.event_elapsed_time, &milliseconds, start, stop));
  return std::llround(static_cast<double>(milliseconds) * 1e6);
}

Result<bool> DeviceFunctions::event_reached(CUevent event, std::int64_t timeout_ns) {
  if (timeout_ns == GANTRY_NO_TIMEOUT) {
    GANTRY_CHECK(driver.call(driver.event_synchronize, event));
    return true;
  }
  return poll(timeout_ns, [&]() -> Result<bool> {
    const CUresult result = driver.event_query.function(event);
    if (result == CUDA_SUCCESS) return true;
    if (result == CUDA_ERROR_NOT_READY) return false;
    return driver.failed(driver.event_query.name, result);
  });
}

Status DeviceFunctions::stream_notify(CUstream stream, void (*notify)(void* argument),
                                      void* argument) {
  Notices::One* const one = device.notices.add(notify, argument);
  const CUstreamCallback deliver = [](CUstream, CUresult, void* self) { Notices::deliver(self); };
  Status added = driver.call(driver.stream_add_callback, device.stream_of(stream), deliver,
                             static_cast<void*>(one), 0u);
  if (!added.ok()) device.notices.withdraw(one);
  return added;
}

Result<CUstream> DeviceFunctions::stream_import(void* handle) {
  if (handle == nullptr) {
    return invalid("handle is NULL, expected a CUstream: NULL is the default stream of the plugin")
        .with_reason("STREAM");
  }
  return device.import_stream(static_cast<CUstream>(handle));
}

Result<void*> DeviceFunctions::native_get(std::int32_t kind, void* object) const {
  switch (kind) {
    case GANTRY_NATIVE_CONTEXT:
      return device.context();
    case GANTRY_NATIVE_STREAM:
      return device.stream_of(object);
    case GANTRY_NATIVE_MEMORY:
      return object;
    default:
      return no_native_handle("cuda", kind);
  }
}

// Relaxed mode, because the first launch of a kernel may load its module during the capture.
Status DeviceFunctions::capture_begin(CUstream stream) {
  if (driver.graph_instantiate.function == nullptr) {
    return driver.lacks(driver.graph_instantiate.name);
  }
  return driver.call(driver.stream_begin_capture, device.stream_of(stream),
                     CU_STREAM_CAPTURE_MODE_RELAXED);
}

Result<CUgraphExec> DeviceFunctions::capture_end(CUstream stream) {
  CUgraph captured = nullptr;
  Status ended = driver.call(driver.stream_end_capture, device.stream_of(stream), &captured);
  CUgraphExec executable = nullptr;
  if (ended.ok()) ended = driver.call(driver.graph_instantiate, &executable, captured, 0ull);
  // The executable graph does not use the captured graph after instantiation.
  if (captured != nullptr) driver.graph_destroy.function(captured);
  GANTRY_CHECK(std::move(ended));
  return executable;
}

Status DeviceFunctions::capture_launch(CUgraphExec graph, CUstream stream) {
  return device.traced(stream, "captured run", LaunchExtents{}, [&] {
    return driver.call(driver.graph_launch, graph, device.stream_of(stream));
  });
}

// Does not wait: the driver frees the graph after a launch in flight.
Status DeviceFunctions::capture_destroy(CUgraphExec graph) {
  if (graph == nullptr) return {};
  return driver.call(driver.graph_exec_destroy, graph);
}

}  // namespace gantry::cuda
