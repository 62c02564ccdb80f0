// SPDX-License-Identifier: Apache-2.0
#include "device.hpp"

#include "plugin.hpp"

#include <gantry/byte_count.hpp>
#include <gantry/device_name.hpp>
#include <gantry/quoted.hpp>

#include <memory>

namespace gantry::opencl {

Result<Buffer*> buffer_of(void* data) {
  auto* const buffer = static_cast<Buffer*>(data);
  if (buffer != nullptr && buffer->mark == Buffer::mark_of_ours) return buffer;
  return invalid("memory at ", Hex{reinterpret_cast<std::uintptr_t>(data)},
                 " is not a buffer of an opencl device")
      .with_reason("DEVICE_DATA");
}

Result<std::int32_t> DeviceFunctions::count(Plugin& plugin) { return plugin.driver.count(); }

Result<DeviceFunctions> DeviceFunctions::at(Plugin& plugin, std::int32_t index) {
  GANTRY_TRY(Device* const device, plugin.driver.device(index));
  return DeviceFunctions{plugin, *device};
}

Result<void*> DeviceFunctions::alloc(const gantry_alloc& what) {
  const std::string_view scope = view_of(what.scope);
  if (!scope.empty() && scope != "global") {
    return unsupported("memory scope ", quoted(scope), " is a texture on ", device.described(),
                       ", and textures are not supported: export the model without them")
        .with_reason("MEMORY_SCOPE");
  }
  // OpenCL has no empty buffers.
  const std::uint64_t size = what.size == 0 ? 1 : what.size;
  if (size > device.max_bytes) {
    return exhausted(ByteCount(what.size), " on ", device.described(),
                     ", most in one allocation is ", ByteCount(device.max_bytes))
        .with_reason("DEVICE_MEMORY");
  }
  GANTRY_TRY(const cl_context context, plugin.driver.context(device));
  auto buffer = std::make_unique<Buffer>();
  cl_int error = CL_SUCCESS;
  buffer->memory = OwnedBuffer(clCreateBuffer(context, CL_MEM_READ_WRITE, size, nullptr, &error));
  if (error != CL_SUCCESS) {
    return driver_error(error,
                        concat("clCreateBuffer of ", ByteCount(size), " on ", device.described()));
  }
  buffer->size = what.size;
  buffer->platform = device.platform;
  buffer->device = &device;
  buffer->number = plugin.last_buffer.fetch_add(1, std::memory_order_relaxed) + 1;
  device.allocated_bytes += static_cast<std::int64_t>(what.size);
  return buffer.release();
}

// The driver keeps the memory until the commands that use it have finished.
void DeviceFunctions::free(void* data) {
  const Result<Buffer*> found = buffer_of(data);
  if (!found.ok()) return;
  const std::unique_ptr<Buffer> buffer(*found);
  buffer->device->allocated_bytes -= static_cast<std::int64_t>(buffer->size);
  buffer->mark = 0;
}

namespace {

// Returns the buffer of one end of a copy.
//
// name     [in]   "from" or "to", for errors
Result<Buffer*> side(const gantry_location& location, std::uint64_t size, std::string_view name) {
  if (location.device.type != device_type) {
    return unsupported("copy ", name, " device type ", location.device.type,
                       ", opencl copies between its own devices and the host")
        .with_reason("DEVICE_PAIR");
  }
  GANTRY_TRY(Buffer* const buffer, buffer_of(location.data));
  if (location.byte_offset > buffer->size || size > buffer->size - location.byte_offset) {
    return invalid("copy ", name, " ", ByteCount(size), " at offset ", location.byte_offset,
                   ", buffer has ", ByteCount(buffer->size))
        .with_reason("COPY_RANGE");
  }
  return buffer;
}

}  // namespace

Status DeviceFunctions::copy(const gantry_copy& what, cl_command_queue stream) {
  const bool from_host = what.from.device.type == cpu_device_type;
  const bool to_host = what.to.device.type == cpu_device_type;
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
  if ((from != nullptr && from->platform != device.platform) ||
      (to != nullptr && to->platform != device.platform)) {
    return unsupported("copy between devices of two OpenCL drivers: copy through host memory")
        .with_reason("DEVICE_PAIR");
  }
  GANTRY_TRY(const cl_command_queue queue, plugin.driver.queue(device, stream));
  const bool blocking = (what.flags & GANTRY_COPY_BLOCKING) != 0;
  cl_int error = CL_SUCCESS;
  // OpenCL rejects empty copies; an empty blocking copy still waits for the queue.
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
    return driver_error(error,
                        concat("copy of ", ByteCount(what.size), " on ", device.described()));
  if (blocking) plugin.programs.settle(false);
  return {};
}

}  // namespace gantry::opencl
