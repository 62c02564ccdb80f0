// SPDX-License-Identifier: Apache-2.0
//
// gantry_device_table over the driver.
#include "plugin.hpp"

#include <gantry/abi_boundary.hpp>

#include <cmath>

namespace gantry::cuda {
namespace {

Plugin& plugin_of(void* self) { return *static_cast<Plugin*>(self); }

// Runs a body with the device's context: Status body(device, driver).
template <class Body>
gantry_code on_device(void* self, std::int32_t i, gantry_status* status, Body&& body) {
  return abi_boundary(status, [&]() -> Status {
    GANTRY_TRY(Device* const device, plugin_of(self).devices.at(i));
    GANTRY_TRY(const ContextScope scope, device->enter());
    return body(*device, device->driver);
  });
}

// The same where nobody can be told: the failure goes to the log.
template <class Body>
void give_up(void* self, std::int32_t i, std::string_view what, Body&& body) {
  StatusBuffer status;
  const gantry_code code = on_device(self, i, status.get(), body);
  if (code == GANTRY_OK) return;
  abi_boundary(nullptr, [&]() -> Status {
    plugin_of(self).host.log(GANTRY_LOG_WARNING, status.error(code, what).message);
    return {};
  });
}

gantry_code count(void* self, std::int32_t* out, gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    GANTRY_TRY(const Driver* const driver, plugin_of(self).devices.driver());
    *out = std::min<std::int32_t>(driver->device_count(), Devices::max);
    return {};
  });
}

// ---- attributes ----------------------------------------------------------------------------------

// Those that are one number of the driver's; -1: none.
int driver_attribute(std::int32_t kind) {
  switch (kind) {
    case GANTRY_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      return CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK;
    case GANTRY_ATTRIBUTE_WARP_SIZE:
      return CU_DEVICE_ATTRIBUTE_WARP_SIZE;
    case GANTRY_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK:
      return CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK;
    case GANTRY_ATTRIBUTE_MAX_CLOCK_RATE:
      return CU_DEVICE_ATTRIBUTE_CLOCK_RATE;
    case GANTRY_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      return CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT;
    case GANTRY_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK:
      return CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK;
    case GANTRY_ATTRIBUTE_L2_CACHE_SIZE:
      return CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE;
    default:
      return -1;
  }
}

Result<std::string> thread_dimensions(Devices& devices, std::int32_t i) {
  GANTRY_TRY(const int x, devices.number(i, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X));
  GANTRY_TRY(const int y, devices.number(i, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y));
  GANTRY_TRY(const int z, devices.number(i, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z));
  return concat('[', x, ", ", y, ", ", z, ']');
}

Result<std::string> attribute_text(Devices& devices, std::int32_t i, std::int32_t kind) {
  switch (kind) {
    case GANTRY_ATTRIBUTE_COMPUTE_VERSION: {
      GANTRY_TRY(const Architecture architecture, devices.architecture(i));
      return concat(architecture.major, '.', architecture.minor);
    }
    case GANTRY_ATTRIBUTE_DEVICE_NAME:
      return devices.name(i);
    case GANTRY_ATTRIBUTE_MAX_THREAD_DIMENSIONS:
      return thread_dimensions(devices, i);
    default: {
      GANTRY_TRY(const Driver* const driver, devices.driver());
      return driver->version_text();
    }
  }
}

Result<std::int64_t> attribute_number(Devices& devices, std::int32_t i, std::int32_t kind) {
  switch (kind) {
    case GANTRY_ATTRIBUTE_API_VERSION:
      return std::int64_t{CUDA_VERSION};
    case GANTRY_ATTRIBUTE_ALLOCATED_BYTES:
      return devices.live_bytes(i);
    case GANTRY_ATTRIBUTE_TOTAL_GLOBAL_MEMORY: {
      GANTRY_TRY(const CUdevice handle, devices.handle(i));
      GANTRY_TRY(const Driver* const driver, devices.driver());
      std::size_t bytes = 0;
      GANTRY_CHECK(driver->call(driver->device_total_mem, &bytes, handle));
      return static_cast<std::int64_t>(bytes);
    }
    case GANTRY_ATTRIBUTE_AVAILABLE_GLOBAL_MEMORY: {
      GANTRY_TRY(Device* const device, devices.at(i));
      GANTRY_TRY(const ContextScope scope, device->enter());
      std::size_t available = 0;
      std::size_t total = 0;
      GANTRY_CHECK(device->driver.call(device->driver.mem_get_info, &available, &total));
      return static_cast<std::int64_t>(available);
    }
    default: {
      GANTRY_TRY(const int number,
                 devices.number(i, static_cast<CUdevice_attribute>(driver_attribute(kind))));
      return std::int64_t{number};
    }
  }
}

gantry_code attribute(void* self, std::int32_t i, std::int32_t kind, gantry_value* out,
                      gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    Plugin& plugin = plugin_of(self);
    switch (kind) {
      case GANTRY_ATTRIBUTE_EXISTS:
        // The question whether there is a device has an answer on every machine.
        *out = int_value(plugin.devices.handle(i).ok() ? 1 : 0);
        return {};
      case GANTRY_ATTRIBUTE_COMPUTE_VERSION:
      case GANTRY_ATTRIBUTE_DEVICE_NAME:
      case GANTRY_ATTRIBUTE_MAX_THREAD_DIMENSIONS:
      case GANTRY_ATTRIBUTE_DRIVER_VERSION: {
        GANTRY_CHECK(plugin.devices.handle(i));
        GANTRY_TRY(const std::string text, attribute_text(plugin.devices, i, kind));
        GANTRY_TRY(Value value, plugin.host.text(text));
        *out = value.take();
        return {};
      }
      case GANTRY_ATTRIBUTE_API_VERSION:
      case GANTRY_ATTRIBUTE_ALLOCATED_BYTES:
      case GANTRY_ATTRIBUTE_TOTAL_GLOBAL_MEMORY:
      case GANTRY_ATTRIBUTE_AVAILABLE_GLOBAL_MEMORY:
        break;
      default:
        if (driver_attribute(kind) < 0) {
          return not_found("attribute ", kind, " does not apply to CUDA devices")
              .with_reason("ATTRIBUTE");
        }
    }
    GANTRY_CHECK(plugin.devices.handle(i));
    GANTRY_TRY(const std::int64_t number, attribute_number(plugin.devices, i, kind));
    *out = int_value(number);
    return {};
  });
}

// ---- memory --------------------------------------------------------------------------------------

gantry_code alloc(void* self, std::int32_t i, const gantry_alloc* what, void** data,
                  gantry_status* status) {
  return on_device(self, i, status, [&](Device& device, const Driver&) -> Status {
    Result<void*> made = device.memory.alloc(*what);
    if (!made.ok()) {
      made.error().at("on ", device.text());
      return std::move(made).failure();
    }
    *data = *made;
    return {};
  });
}

void free_memory(void* self, std::int32_t i, void* data) {
  give_up(self, i, "free", [&](Device& device, const Driver&) -> Status {
    device.free(data, plugin_of(self).devices);
    return {};
  });
}

gantry_code copy(void* self, std::int32_t i, const gantry_copy* what, void* stream,
                 gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    Devices& devices = plugin_of(self).devices;
    GANTRY_TRY(Device* const device, devices.at(i));
    return device->copy(*what, stream, devices);
  });
}

// ---- streams and events --------------------------------------------------------------------------

gantry_code synchronize(void* self, std::int32_t i, void* stream, gantry_status* status) {
  return on_device(self, i, status, [&](Device& device, const Driver& driver) {
    return driver.call(driver.stream_synchronize, device.stream_of(stream));
  });
}

gantry_code stream_create(void* self, std::int32_t i, std::uint32_t, void** stream,
                          gantry_status* status) {
  return on_device(self, i, status, [&](Device&, const Driver& driver) -> Status {
    CUstream made = nullptr;
    GANTRY_CHECK(
        driver.call(driver.stream_create, &made, static_cast<unsigned>(CU_STREAM_NON_BLOCKING)));
    *stream = made;
    return {};
  });
}

// Work in the stream goes on: the driver frees a stream behind its last command.
void stream_destroy(void* self, std::int32_t i, void* stream) {
  if (stream == nullptr) return;
  give_up(self, i, "stream_destroy", [&](Device&, const Driver& driver) {
    return driver.call(driver.stream_destroy, static_cast<CUstream>(stream));
  });
}

gantry_code event_create(void* self, std::int32_t i, std::uint32_t, void** event,
                         gantry_status* status) {
  return on_device(self, i, status, [&](Device&, const Driver& driver) -> Status {
    CUevent made = nullptr;
    GANTRY_CHECK(driver.call(driver.event_create, &made, static_cast<unsigned>(CU_EVENT_DEFAULT)));
    *event = made;
    return {};
  });
}

void event_destroy(void* self, std::int32_t i, void* event) {
  if (event == nullptr) return;
  give_up(self, i, "event_destroy", [&](Device&, const Driver& driver) {
    return driver.call(driver.event_destroy, static_cast<CUevent>(event));
  });
}

gantry_code event_record(void* self, std::int32_t i, void* event, void* stream,
                         gantry_status* status) {
  return on_device(self, i, status, [&](Device& device, const Driver& driver) {
    return driver.call(driver.event_record, static_cast<CUevent>(event), device.stream_of(stream));
  });
}

gantry_code event_wait(void* self, std::int32_t i, void* event, void* stream,
                       gantry_status* status) {
  return on_device(self, i, status, [&](Device& device, const Driver& driver) {
    return driver.call(driver.stream_wait_event, device.stream_of(stream),
                       static_cast<CUevent>(event), 0u);
  });
}

gantry_code event_elapsed(void* self, std::int32_t i, void* start, void* stop, std::int64_t* ns,
                          gantry_status* status) {
  return on_device(self, i, status, [&](Device&, const Driver& driver) -> Status {
    GANTRY_CHECK(driver.call(driver.event_synchronize, static_cast<CUevent>(stop)));
    float milliseconds = 0;
    GANTRY_CHECK(driver.call(driver.event_elapsed_time, &milliseconds, static_cast<CUevent>(start),
                             static_cast<CUevent>(stop)));
    *ns = std::llround(static_cast<double>(milliseconds) * 1e6);
    return {};
  });
}

// ---- captured graphs -----------------------------------------------------------------------------

// Relaxed: a kernel's module may be loaded while its first launch is captured.
gantry_code capture_begin(void* self, std::int32_t i, void* stream, gantry_status* status) {
  return on_device(self, i, status, [&](Device& device, const Driver& driver) -> Status {
    if (driver.graph_instantiate.function == nullptr) {
      return driver.lacks(driver.graph_instantiate.name);
    }
    return driver.call(driver.stream_begin_capture, device.stream_of(stream),
                       CU_STREAM_CAPTURE_MODE_RELAXED);
  });
}

gantry_code capture_end(void* self, std::int32_t i, void* stream, void** graph,
                        gantry_status* status) {
  return on_device(self, i, status, [&](Device& device, const Driver& driver) -> Status {
    CUgraph captured = nullptr;
    Status ended = driver.call(driver.stream_end_capture, device.stream_of(stream), &captured);
    CUgraphExec executable = nullptr;
    if (ended.ok()) {
      ended = driver.call(driver.graph_instantiate, &executable, captured, 0ull);
    }
    // What is launched is a copy.
    if (captured != nullptr) driver.graph_destroy.function(captured);
    GANTRY_CHECK(std::move(ended));
    *graph = executable;
    return {};
  });
}

gantry_code capture_launch(void* self, std::int32_t i, void* graph, void* stream,
                           gantry_status* status) {
  return on_device(self, i, status, [&](Device& device, const Driver& driver) {
    return driver.call(driver.graph_launch, static_cast<CUgraphExec>(graph),
                       device.stream_of(stream));
  });
}

// A launch under way goes on: the driver frees the graph behind it.
void capture_destroy(void* self, std::int32_t i, void* graph) {
  if (graph == nullptr) return;
  give_up(self, i, "capture_destroy", [&](Device&, const Driver& driver) {
    return driver.call(driver.graph_exec_destroy, static_cast<CUgraphExec>(graph));
  });
}

}  // namespace

const gantry_device_table device_table = {
    .struct_size = sizeof(gantry_device_table),
    .flags = 0,
    .name = "cuda",
    .type = cuda_type,
    .zero = 0,
    .count = count,
    .attribute = attribute,
    .alloc = alloc,
    .free = free_memory,
    .copy = copy,
    .synchronize = synchronize,
    .stream_create = stream_create,
    .stream_destroy = stream_destroy,
    .event_create = event_create,
    .event_destroy = event_destroy,
    .event_record = event_record,
    .event_wait = event_wait,
    .event_elapsed = event_elapsed,
    .capture_begin = capture_begin,
    .capture_end = capture_end,
    .capture_launch = capture_launch,
    .capture_destroy = capture_destroy,
};

}  // namespace gantry::cuda
