// SPDX-License-Identifier: Apache-2.0
#include "device.hpp"

#include <gantry/abi_boundary.hpp>
#include <gantry/quoted.hpp>

#include <memory>

namespace gantry::opencl {
namespace {

constexpr std::int32_t host_type = 1;

// An option's text; empty where there is none.
std::string option(const gantry_host* host, std::string_view key) {
  gantry_value value{};
  if (host->config_get(host, bytes_of(key), &value, nullptr) != GANTRY_OK) return {};
  return std::string(value_text(value).value_or(""));
}

bool option_is_off(const gantry_host* host, std::string_view key) {
  gantry_value value{};
  return host->config_get(host, bytes_of(key), &value, nullptr) == GANTRY_OK &&
         value_int(value) == 0;
}

DiskCache::Options cache_options(const gantry_host* host) {
  const std::string directory = option(host, "cache_directory");
  if (directory.empty() || option_is_off(host, "cache")) return {};
  return {.directory = directory + "/opencl"};
}

gantry_code count(void* self, std::int32_t* count, gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    GANTRY_TRY(*count, plugin_of(self).driver.count());
    return {};
  });
}

Status allocate(Plugin& plugin, std::int32_t i, const gantry_alloc& what, void** data) {
  GANTRY_TRY(Device* const device, plugin.driver.device(i));
  const std::string_view scope = view_of(what.scope);
  if (!scope.empty() && scope != "global") {
    return unsupported("memory scope ", quoted(scope), " is a texture on ", device->described(),
                       ", and textures are not supported: export the model without them")
        .with_reason("MEMORY_SCOPE");
  }
  // the driver has no empty buffers
  const std::uint64_t size = what.size == 0 ? 1 : what.size;
  if (size > device->max_bytes) {
    return exhausted(what.size, " bytes on ", device->described(), ", most in one allocation is ",
                     device->max_bytes)
        .with_reason("DEVICE_MEMORY");
  }
  GANTRY_TRY(const cl_context context, plugin.driver.context(*device));
  auto buffer = std::make_unique<Buffer>();
  cl_int error = CL_SUCCESS;
  buffer->memory = OwnedBuffer(clCreateBuffer(context, CL_MEM_READ_WRITE, size, nullptr, &error));
  if (error != CL_SUCCESS) {
    return driver_error(error,
                        concat("clCreateBuffer of ", size, " bytes on ", device->described()));
  }
  buffer->size = what.size;
  buffer->platform = device->platform;
  buffer->device = device;
  buffer->number = plugin.last_buffer.fetch_add(1, std::memory_order_relaxed) + 1;
  device->allocated_bytes += static_cast<std::int64_t>(what.size);
  *data = buffer.release();
  return {};
}

gantry_code alloc(void* self, std::int32_t i, const gantry_alloc* what, void** data,
                  gantry_status* status) {
  return abi_boundary(status, [&] { return allocate(plugin_of(self), i, *what, data); });
}

// The driver keeps the memory until the commands that use it are done.
void free_memory(void*, std::int32_t, void* data) {
  auto* const buffer = static_cast<Buffer*>(data);
  if (!buffer_of(buffer).ok()) return;
  buffer->device->allocated_bytes -= static_cast<std::int64_t>(buffer->size);
  buffer->mark = 0;
  delete buffer;
}

// One side of a copy that lies on a device.
Result<Buffer*> side(const gantry_location& location, std::uint64_t size, std::string_view name) {
  if (location.device.type != device_type) {
    return unsupported("copy ", name, " device type ", location.device.type,
                       ", opencl copies between its own devices and the host")
        .with_reason("DEVICE_PAIR");
  }
  GANTRY_TRY(Buffer* const buffer, buffer_of(location.data));
  if (location.byte_offset > buffer->size || size > buffer->size - location.byte_offset) {
    return invalid("copy ", name, " ", size, " bytes at offset ", location.byte_offset,
                   ", buffer has ", buffer->size)
        .with_reason("COPY_RANGE");
  }
  return buffer;
}

Status copy_bytes(Plugin& plugin, std::int32_t i, const gantry_copy& what, void* stream) {
  GANTRY_TRY(Device* const device, plugin.driver.device(i));
  const bool from_host = what.from.device.type == host_type;
  const bool to_host = what.to.device.type == host_type;
  if (from_host && to_host)
    return invalid("copy is from host to host, one side must be an opencl device")
        .with_reason("DEVICE_PAIR");
  Buffer* from = nullptr;
  Buffer* to = nullptr;
  if (!from_host) {
    GANTRY_TRY(from, side(what.from, what.size, "from"));
  }
  if (!to_host) {
    GANTRY_TRY(to, side(what.to, what.size, "to"));
  }
  if ((from != nullptr && from->platform != device->platform) ||
      (to != nullptr && to->platform != device->platform)) {
    return unsupported("copy between devices of two OpenCL drivers goes by the host")
        .with_reason("DEVICE_PAIR");
  }
  GANTRY_TRY(const cl_command_queue queue, plugin.driver.queue(*device, stream));
  const bool blocking = (what.flags & GANTRY_COPY_BLOCKING) != 0;
  cl_int error = CL_SUCCESS;
  // the driver refuses empty copies; a blocking one still waits
  if (what.size == 0) {
    if (blocking) error = clFinish(queue);
  } else if (from == nullptr) {
    const auto* bytes = static_cast<const std::uint8_t*>(what.from.data) + what.from.byte_offset;
    error = clEnqueueWriteBuffer(queue, to->memory.get(), blocking, what.to.byte_offset, what.size,
                                 bytes, 0, nullptr, nullptr);
  } else if (to == nullptr) {
    auto* bytes = static_cast<std::uint8_t*>(what.to.data) + what.to.byte_offset;
    error = clEnqueueReadBuffer(queue, from->memory.get(), blocking, what.from.byte_offset,
                                what.size, bytes, 0, nullptr, nullptr);
  } else {
    error = clEnqueueCopyBuffer(queue, from->memory.get(), to->memory.get(), what.from.byte_offset,
                                what.to.byte_offset, what.size, 0, nullptr, nullptr);
    if (error == CL_SUCCESS && blocking) error = clFinish(queue);
  }
  if (error != CL_SUCCESS)
    return driver_error(error, concat("copy of ", what.size, " bytes on ", device->described()));
  if (blocking) plugin.programs.settle(false);
  return {};
}

gantry_code copy(void* self, std::int32_t i, const gantry_copy* what, void* stream,
                 gantry_status* status) {
  return abi_boundary(status, [&] { return copy_bytes(plugin_of(self), i, *what, stream); });
}

}  // namespace

Plugin::Plugin(const gantry_host* table)
    : host(table), programs(table, driver, cache_options(table), option(table, "build_options")) {}

Result<Buffer*> buffer_of(void* data) {
  auto* const buffer = static_cast<Buffer*>(data);
  if (buffer != nullptr && buffer->mark == Buffer::mark_of_ours) return buffer;
  return invalid("memory at ", Hex{reinterpret_cast<std::uintptr_t>(data)},
                 " is no buffer of an opencl device")
      .with_reason("DEVICE_DATA");
}

constinit const gantry_device_table device_table = {
    .struct_size = sizeof(gantry_device_table),
    .flags = GANTRY_DEVICE_OPAQUE_DATA,
    .name = "opencl",
    .type = device_type,
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
    .capture_begin = nullptr,
    .capture_end = nullptr,
    .capture_launch = nullptr,
    .capture_destroy = nullptr,
};

}  // namespace gantry::opencl
