// SPDX-License-Identifier: Apache-2.0
#include "device.hpp"

#include "plugin.hpp"

#include <gantry/byte_count.hpp>
#include <gantry/device_name.hpp>
#include <gantry/external_memory.hpp>
#include <gantry/hardware_id.hpp>
#include <gantry/poll.hpp>
#include <gantry/quoted.hpp>

#include <algorithm>
#include <array>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

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
  return DeviceFunctions{plugin, *device, device->loss};
}

Result<void*> DeviceFunctions::alloc(const gantry_alloc& what) {
  const std::string_view scope = view_of(what.scope);
  if (scope == GANTRY_SCOPE_HOST) return alloc_host(what);
  if (!scope.empty() && scope != GANTRY_SCOPE_GLOBAL) {
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

void HostBuffers::add(void* data, HostBuffer buffer) {
  const std::lock_guard lock(mutex_);
  buffers_.emplace(reinterpret_cast<std::uintptr_t>(data), std::move(buffer));
}

std::optional<HostBuffer> HostBuffers::take(void* data) {
  const std::lock_guard lock(mutex_);
  const auto found = buffers_.find(reinterpret_cast<std::uintptr_t>(data));
  if (found == buffers_.end()) return std::nullopt;
  HostBuffer buffer = std::move(found->second);
  buffers_.erase(found);
  return buffer;
}

HostBuffer* HostBuffers::find(const void* data) {
  const auto address = reinterpret_cast<std::uintptr_t>(data);
  auto found = buffers_.upper_bound(address);
  if (found == buffers_.begin()) return nullptr;
  --found;
  return address - found->first < found->second.size ? &found->second : nullptr;
}

bool HostBuffers::contains(const void* data) {
  const std::lock_guard lock(mutex_);
  return find(data) != nullptr;
}

void HostBuffers::note(const void* data, OwnedEvent copy) {
  const std::lock_guard lock(mutex_);
  HostBuffer* const buffer = find(data);
  if (buffer == nullptr) return;
  std::erase_if(buffer->copies, [](const OwnedEvent& other) {
    cl_int state = CL_COMPLETE;
    clGetEventInfo(other.get(), CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, nullptr);
    return state <= CL_COMPLETE;
  });
  buffer->copies.push_back(std::move(copy));
}

Result<void*> DeviceFunctions::alloc_host(const gantry_alloc& what) {
  const std::uint64_t room = std::max<std::uint64_t>(what.alignment, 1) - 1;
  const std::uint64_t size = std::max<std::uint64_t>(what.size, 1);
  if (size > device.max_bytes || room > device.max_bytes - size) {
    return exhausted(ByteCount(what.size), " of the host for ", device.described(),
                     ", most in one allocation is ", ByteCount(device.max_bytes))
        .with_reason("DEVICE_MEMORY");
  }
  GANTRY_TRY(const cl_context context, plugin.driver.context(device));
  GANTRY_TRY(const cl_command_queue queue, plugin.driver.queue(device, nullptr));
  const auto subject = [&] {
    return concat(ByteCount(size), " of the host on ", device.described());
  };
  cl_int error = CL_SUCCESS;
  HostBuffer buffer;
  buffer.memory = OwnedBuffer(clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR,
                                             size + room, nullptr, &error));
  if (error != CL_SUCCESS) return driver_error(error, concat("clCreateBuffer of ", subject()));
  buffer.mapped =
      clEnqueueMapBuffer(queue, buffer.memory.get(), CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0,
                         size + room, 0, nullptr, nullptr, &error);
  if (error != CL_SUCCESS) return driver_error(error, concat("clEnqueueMapBuffer of ", subject()));
  buffer.size = size;
  buffer.device = &device;
  void* const data = reinterpret_cast<void*>(
      (reinterpret_cast<std::uintptr_t>(buffer.mapped) + room) & ~std::uintptr_t{room});
  plugin.host_buffers.add(data, std::move(buffer));
  device.allocated_bytes += static_cast<std::int64_t>(size);
  return data;
}

bool DeviceFunctions::free_host(void* data) {
  std::optional<HostBuffer> buffer = plugin.host_buffers.take(data);
  if (!buffer) return false;
  buffer->device->allocated_bytes -= static_cast<std::int64_t>(buffer->size);
  for (const OwnedEvent& copy : buffer->copies) {
    const cl_event awaited = copy.get();
    clWaitForEvents(1, &awaited);
  }
  const Result<cl_command_queue> queue = plugin.driver.queue(*buffer->device, nullptr);
  if (queue.ok())
    clEnqueueUnmapMemObject(*queue, buffer->memory.get(), buffer->mapped, 0, nullptr, nullptr);
  return true;
}

namespace {

// Enqueues the hand-over of memory that other drivers share, and waits for it.
//
// hand_over [in]  Platform::acquire or release
cl_int share(cl_command_queue queue, clEnqueueAcquireExternalMemObjectsKHR_fn hand_over,
             const OwnedBuffer& memory) {
  const cl_mem shared = memory.get();
  const cl_int error = hand_over(queue, 1, &shared, 0, nullptr, nullptr);
  return error == CL_SUCCESS ? clFinish(queue) : error;
}

}  // namespace

// The driver keeps the memory until the commands that use it have finished. Memory of a descriptor is
// the others' after the return.
void DeviceFunctions::free(void* data) {
  if (free_host(data)) return;
  const Result<Buffer*> found = buffer_of(data);
  if (!found.ok()) return;
  const std::unique_ptr<Buffer> buffer(*found);
  if (buffer->external) {
    const Result<cl_command_queue> queue = plugin.driver.queue(*buffer->device, nullptr);
    if (queue.ok()) share(*queue, buffer->platform->release, buffer->external);
  }
  if (!buffer->is_imported)
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
        .with_reason("COPY_DEVICES");
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
        .with_reason("COPY_DEVICES");
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
        .with_reason("COPY_DEVICES");
  }
  GANTRY_TRY(const cl_command_queue queue, plugin.driver.queue(device, stream));
  const bool blocking = (what.flags & GANTRY_COPY_BLOCKING) != 0;
  cl_int error = CL_SUCCESS;
  const gantry_location& host_side = from_host ? what.from : what.to;
  const auto* const host_data =
      static_cast<const std::uint8_t*>(host_side.data) + host_side.byte_offset;
  const bool is_noted =
      !blocking && (from_host || to_host) && plugin.host_buffers.contains(host_data);
  cl_event copied = nullptr;
  cl_event* const noted = is_noted ? &copied : nullptr;
  // OpenCL rejects empty copies; an empty blocking copy still waits for the queue.
  if (what.size == 0) {
    if (blocking) error = clFinish(queue);
  } else if (from == nullptr) {
    const auto* bytes = static_cast<const std::uint8_t*>(what.from.data) + what.from.byte_offset;
    error = clEnqueueWriteBuffer(queue, to->memory.get(), blocking, what.to.byte_offset, what.size,
                                 bytes, 0, nullptr, noted);
  } else if (to == nullptr) {
    auto* bytes = static_cast<std::uint8_t*>(what.to.data) + what.to.byte_offset;
    error = clEnqueueReadBuffer(queue, from->memory.get(), blocking, what.from.byte_offset,
                                what.size, bytes, 0, nullptr, noted);
  } else {
    error = clEnqueueCopyBuffer(queue, from->memory.get(), to->memory.get(), what.from.byte_offset,
                                what.to.byte_offset, what.size, 0, nullptr, nullptr);
    if (error == CL_SUCCESS && blocking) error = clFinish(queue);
  }
  if (error != CL_SUCCESS)
    return driver_error(error,
                        concat("copy of ", ByteCount(what.size), " on ", device.described()));
  if (copied != nullptr) plugin.host_buffers.note(host_data, OwnedEvent(copied));
  if (blocking) finished(stream);
  return {};
}

Status DeviceFunctions::fill(const DeviceFill& what, cl_command_queue stream) {
  GANTRY_TRY(Buffer* const buffer, buffer_of(what.data));
  if (what.byte_offset > buffer->size || what.size > buffer->size - what.byte_offset) {
    return invalid("fill of ", ByteCount(what.size), " at offset ", what.byte_offset,
                   ", buffer has ", ByteCount(buffer->size))
        .with_reason("COPY_RANGE");
  }
  GANTRY_TRY(const cl_command_queue queue, plugin.driver.queue(device, stream));
  // OpenCL rejects empty commands.
  if (what.size == 0) return {};
  const cl_int error =
      clEnqueueFillBuffer(queue, buffer->memory.get(), what.pattern.data(), what.pattern.size(),
                          what.byte_offset, what.size, 0, nullptr, nullptr);
  if (error == CL_SUCCESS) return {};
  return driver_error(
      error, concat("clEnqueueFillBuffer of ", ByteCount(what.size), " on ", device.described()));
}

// Returns a part of a buffer of others, or a reference to the whole.
Result<OwnedBuffer> DeviceFunctions::part_of_memory(cl_mem memory, std::uint64_t offset,
                                                    std::uint64_t size) {
  std::size_t whole = 0;
  cl_int error = clGetMemObjectInfo(memory, CL_MEM_SIZE, sizeof whole, &whole, nullptr);
  if (error != CL_SUCCESS) return driver_error(error, "clGetMemObjectInfo of an imported cl_mem");
  if (offset > whole || size > whole - offset) {
    return invalid("imported cl_mem: ", ByteCount(size), " at offset ", offset, ", it has ",
                   ByteCount(whole))
        .with_reason("ARGUMENT_RANGE");
  }
  if (offset == 0) {
    error = clRetainMemObject(memory);
    if (error != CL_SUCCESS) return driver_error(error, "clRetainMemObject of an imported cl_mem");
    return OwnedBuffer(memory);
  }
  if (offset % device.alignment_bytes != 0) {
    return invalid("external memory: offset is ", offset, ", on ", device.described(),
                   " a part begins at a multiple of ", device.alignment_bytes)
        .with_reason("ALIGNMENT");
  }
  const cl_buffer_region region{offset, size};
  OwnedBuffer part(
      clCreateSubBuffer(memory, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &error));
  if (error != CL_SUCCESS) return driver_error(error, "clCreateSubBuffer of an imported cl_mem");
  return part;
}

// The driver owns a descriptor that it has imported.
Result<OwnedBuffer> DeviceFunctions::import_descriptor(const gantry_external& what) {
  const cl_external_memory_handle_type_khr kind = what.kind == GANTRY_EXTERNAL_DMA_BUF
                                                      ? CL_EXTERNAL_MEMORY_HANDLE_DMA_BUF_KHR
                                                      : CL_EXTERNAL_MEMORY_HANDLE_OPAQUE_FD_KHR;
  if (!device.imports(kind)) return no_external_kind(identity.name, what.kind);
  GANTRY_CHECK(check_external_range(what));
  GANTRY_TRY(Descriptor own, copy_of_descriptor(what));
  GANTRY_TRY(const cl_context context, plugin.driver.context(device));
  const cl_mem_properties properties[] = {kind,
                                          static_cast<cl_mem_properties>(own.get()),
                                          CL_DEVICE_HANDLE_LIST_KHR,
                                          reinterpret_cast<cl_mem_properties>(device.id),
                                          CL_DEVICE_HANDLE_LIST_END_KHR,
                                          0};
  cl_int error = CL_SUCCESS;
  OwnedBuffer memory(device.platform->create_with_properties(
      context, properties, CL_MEM_READ_WRITE, what.offset + what.size, nullptr, &error));
  if (error != CL_SUCCESS) {
    return driver_error(error, concat("clCreateBufferWithProperties of descriptor ", what.fd,
                                      " on ", device.described()));
  }
  static_cast<void>(own.release());
  return memory;
}

Result<void*> DeviceFunctions::memory_import(const gantry_external& what) {
  auto buffer = std::make_unique<Buffer>();
  if (what.kind == GANTRY_EXTERNAL_NATIVE) {
    GANTRY_TRY(buffer->memory,
               part_of_memory(static_cast<cl_mem>(what.handle), what.offset, what.size));
  } else if (what.kind == GANTRY_EXTERNAL_HOST) {
    GANTRY_TRY(const cl_context context, plugin.driver.context(device));
    std::uint8_t* const first = static_cast<std::uint8_t*>(what.handle) + what.offset;
    const auto address = reinterpret_cast<std::uintptr_t>(first);
    if (address % device.alignment_bytes != 0 || what.size == 0) {
      return invalid("host memory of ", ByteCount(what.size), " at ", Hex{address}, ", ",
                     device.described(), " imports at least 1 byte at a multiple of ",
                     device.alignment_bytes)
          .with_reason("ALIGNMENT");
    }
    cl_int error = CL_SUCCESS;
    buffer->memory = OwnedBuffer(
        clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, what.size, first, &error));
    if (error != CL_SUCCESS)
      return driver_error(error, concat("clCreateBuffer over host memory of ", ByteCount(what.size),
                                        " on ", device.described()));
  } else {
    GANTRY_TRY(OwnedBuffer whole, import_descriptor(what));
    GANTRY_TRY(buffer->memory, part_of_memory(whole.get(), what.offset, what.size));
    GANTRY_TRY(const cl_command_queue queue, plugin.driver.queue(device, nullptr));
    const cl_int error = share(queue, device.platform->acquire, whole);
    if (error != CL_SUCCESS)
      return driver_error(error,
                          concat("clEnqueueAcquireExternalMemObjectsKHR on ", device.described()));
    buffer->external = std::move(whole);
  }
  buffer->size = what.size;
  buffer->platform = device.platform;
  buffer->device = &device;
  buffer->number = plugin.last_buffer.fetch_add(1, std::memory_order_relaxed) + 1;
  buffer->is_imported = true;
  return buffer.release();
}

// ---- properties, as the driver reports them

namespace {

template <class T>
std::optional<std::int64_t> number(const Device& device, cl_device_info what) {
  T value{};
  if (clGetDeviceInfo(device.id, what, sizeof value, &value, nullptr) != CL_SUCCESS)
    return std::nullopt;
  return static_cast<std::int64_t>(value);
}

// Returns "3.0" for "OpenCL 3.0 PoCL ..."; the OpenCL specification defines the prefix.
std::string version_number(const Device& device) {
  const std::string_view version(device.version);
  const std::size_t begin = version.find(' ');
  if (begin == std::string_view::npos) return {};
  const std::size_t end = std::min(version.find(' ', begin + 1), version.size());
  return std::string(version.substr(begin + 1, end - begin - 1));
}

// Threads that run in lockstep. OpenCL defines it per kernel, vendor extensions define it per
// device; 1 without such an extension, which is the value that compilers assume.
std::int64_t warp_size(const Device& device) {
  const std::string extensions = device_text(device.id, CL_DEVICE_EXTENSIONS);
  std::optional<std::int64_t> size;
  if (extensions.find("cl_nv_device_attribute_query") != std::string::npos) {
    size = number<cl_uint>(device, CL_DEVICE_WARP_SIZE_NV);
  } else if (extensions.find("cl_amd_device_attribute_query") != std::string::npos) {
    size = number<cl_uint>(device, CL_DEVICE_WAVEFRONT_WIDTH_AMD);
  }
  return size.value_or(1);
}

std::string thread_dimensions(const Device& device) {
  std::array<std::size_t, 3> max{1, 1, 1};
  cl_uint count = 0;
  clGetDeviceInfo(device.id, CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS, sizeof count, &count, nullptr);
  std::vector<std::size_t> sizes(count);
  if (clGetDeviceInfo(device.id, CL_DEVICE_MAX_WORK_ITEM_SIZES, count * sizeof(std::size_t),
                      sizes.data(), nullptr) == CL_SUCCESS) {
    for (std::size_t i = 0; i < max.size() && i < sizes.size(); ++i) max[i] = sizes[i];
  }
  return concat('[', max[0], ", ", max[1], ", ", max[2], ']');
}

// Those of the extensions cl_khr_device_uuid and cl_khr_pci_bus_info; drivers without them refuse
// the query.
constexpr cl_device_info device_uuid = 0x106a;
constexpr cl_device_info device_pci_bus_info = 0x410f;

std::string uuid_of(const Device& device) {
  std::array<std::uint8_t, 16> bytes{};
  if (clGetDeviceInfo(device.id, device_uuid, bytes.size(), bytes.data(), nullptr) != CL_SUCCESS)
    return {};
  return uuid_text(bytes);
}

std::string pci_address_of(const Device& device) {
  // domain, bus, device, function
  std::array<cl_uint, 4> address{};
  if (clGetDeviceInfo(device.id, device_pci_bus_info, sizeof address, address.data(), nullptr) !=
      CL_SUCCESS)
    return {};
  return pci_address_text(address[0], address[1], address[2], address[3]);
}

// None if the driver does not report the text.
Attribute text(std::string value) {
  return value.empty() ? Attribute() : Attribute(std::move(value));
}

}  // namespace

Attribute DeviceFunctions::attribute(std::int32_t kind) const {
  switch (kind) {
    case GANTRY_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      return device.max_threads;
    case GANTRY_ATTRIBUTE_WARP_SIZE:
      return warp_size(device);
    case GANTRY_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK:
      return number<cl_ulong>(device, CL_DEVICE_LOCAL_MEM_SIZE);
    case GANTRY_ATTRIBUTE_MAX_CLOCK_RATE: {
      const auto mhz = number<cl_uint>(device, CL_DEVICE_MAX_CLOCK_FREQUENCY);
      return mhz ? Attribute(*mhz * 1000) : Attribute();
    }
    case GANTRY_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      return number<cl_uint>(device, CL_DEVICE_MAX_COMPUTE_UNITS);
    case GANTRY_ATTRIBUTE_API_VERSION: {
      const int version = version_in(device.version);
      return version != 0 ? Attribute(version) : Attribute();
    }
    case GANTRY_ATTRIBUTE_L2_CACHE_SIZE:
      return number<cl_ulong>(device, CL_DEVICE_GLOBAL_MEM_CACHE_SIZE);
    case GANTRY_ATTRIBUTE_TOTAL_GLOBAL_MEMORY:
      return number<cl_ulong>(device, CL_DEVICE_GLOBAL_MEM_SIZE);
    case GANTRY_ATTRIBUTE_IMAGE_PITCH_ALIGNMENT: {
      const auto pixels = number<cl_uint>(device, CL_DEVICE_IMAGE_PITCH_ALIGNMENT);
      // 0: the device cannot create images from buffers.
      return pixels && *pixels > 0 ? Attribute(*pixels) : Attribute();
    }
    case GANTRY_ATTRIBUTE_ALLOCATED_BYTES:
      return device.allocated_bytes.load();
    case GANTRY_ATTRIBUTE_ALIGNMENT:
      return device.alignment_bytes;
    case GANTRY_ATTRIBUTE_MAX_ALLOCATION:
      return device.max_bytes != 0 ? Attribute(device.max_bytes) : Attribute();
    case GANTRY_ATTRIBUTE_COMPUTE_VERSION:
      return text(version_number(device));
    case GANTRY_ATTRIBUTE_DEVICE_NAME:
      return text(device.name);
    case GANTRY_ATTRIBUTE_MAX_THREAD_DIMENSIONS:
      return thread_dimensions(device);
    case GANTRY_ATTRIBUTE_DRIVER_VERSION:
      return text(device.driver);
    case GANTRY_ATTRIBUTE_UUID:
      return text(uuid_of(device));
    case GANTRY_ATTRIBUTE_PCI_ADDRESS:
      return text(pci_address_of(device));
    case GANTRY_ATTRIBUTE_VENDOR_ID:
      return number<cl_uint>(device, CL_DEVICE_VENDOR_ID);
    default:
      return {};
  }
}

// ---- streams and events: a stream is a command queue; an event is a marker in a queue, with the
// driver's timestamp

namespace {

// Returns a new reference to an event's marker; empty: the event was never recorded.
OwnedEvent marker_of(Event& event) {
  const std::lock_guard lock(event.mutex);
  const cl_event marker = event.marker.get();
  if (marker == nullptr || clRetainEvent(marker) != CL_SUCCESS) return {};
  return OwnedEvent(marker);
}

Result<cl_ulong> time_of(Event& event, std::string_view which) {
  if (!event.is_timed) return invalid("event ", which, " has no time").with_reason("EVENT");
  const OwnedEvent marker = marker_of(event);
  if (!marker) return invalid("event ", which, " was never recorded").with_reason("EVENT");
  const cl_event awaited = marker.get();
  cl_int error = clWaitForEvents(1, &awaited);
  if (error != CL_SUCCESS) return driver_error(error, "clWaitForEvents");
  cl_ulong time = 0;
  error = clGetEventProfilingInfo(awaited, CL_PROFILING_COMMAND_END, sizeof time, &time, nullptr);
  if (error != CL_SUCCESS) return driver_error(error, "clGetEventProfilingInfo");
  return time;
}

}  // namespace

Status DeviceFunctions::synchronize(cl_command_queue stream) {
  GANTRY_TRY(const cl_command_queue queue, plugin.driver.queue(device, stream));
  const cl_int error = clFinish(queue);
  if (error != CL_SUCCESS) return driver_error(error, concat("clFinish on ", device.described()));
  finished(stream);
  return {};
}

namespace {

// A time of a command on the device's clock; -1: the driver does not have it.
std::int64_t time_of(cl_event event, cl_profiling_info what) {
  cl_ulong time = 0;
  if (clGetEventProfilingInfo(event, what, sizeof time, &time, nullptr) != CL_SUCCESS) return -1;
  return static_cast<std::int64_t>(time);
}

// Waits for a marker, which ends when this thread continues. Drivers need not have a function for
// both clocks.
std::optional<ClockAnchor> anchor_of(cl_command_queue queue, const Device& device) {
  cl_event marker = nullptr;
  if (clEnqueueMarkerWithWaitList(queue, 0, nullptr, &marker) != CL_SUCCESS) return std::nullopt;
  const OwnedEvent owned(marker);
  if (clWaitForEvents(1, &marker) != CL_SUCCESS) return std::nullopt;
  const std::int64_t now = device.spans->now();
  const std::int64_t ended = time_of(marker, CL_PROFILING_COMMAND_END);
  if (now < 0 || ended < 0) return std::nullopt;
  return ClockAnchor{ended, now};
}

}  // namespace

void DeviceFunctions::finished(cl_command_queue stream) {
  plugin.programs.settle(false);
  const auto kernels = device.spans->take(stream);
  if (kernels.empty()) return;
  const auto queue = plugin.driver.queue(device, stream);
  const auto anchor = queue.ok() ? anchor_of(*queue, device) : std::nullopt;
  if (!anchor) return;
  for (const auto& kernel : kernels) {
    const std::int64_t begun = time_of(kernel.mark.get(), CL_PROFILING_COMMAND_START);
    const std::int64_t ended = time_of(kernel.mark.get(), CL_PROFILING_COMMAND_END);
    if (begun >= 0 && ended >= begun)
      device.spans->record(kernel, anchor->trace_time(begun), anchor->trace_time(ended));
  }
}

Result<cl_command_queue> DeviceFunctions::stream_create() {
  return plugin.driver.new_queue(device);
}

// The driver keeps the queue until its commands have finished; the flush submits them.
void DeviceFunctions::stream_destroy(cl_command_queue stream) {
  device.spans->forget(stream);
  clFlush(stream);
  clReleaseCommandQueue(stream);
}

Status DeviceFunctions::event_record(Event* event, cl_command_queue stream) {
  GANTRY_TRY(const cl_command_queue queue, plugin.driver.queue(device, stream));
  cl_event marker = nullptr;
  cl_int error = clEnqueueMarkerWithWaitList(queue, 0, nullptr, &marker);
  if (error != CL_SUCCESS) {
    return driver_error(error, concat("clEnqueueMarkerWithWaitList on ", device.described()));
  }
  OwnedEvent recorded(marker);
  // Another queue may wait for the marker, and nothing else is certain to submit this queue.
  error = clFlush(queue);
  if (error != CL_SUCCESS) return driver_error(error, concat("clFlush on ", device.described()));
  const std::lock_guard lock(event->mutex);
  event->marker = std::move(recorded);
  return {};
}

Status DeviceFunctions::event_wait(Event* event, cl_command_queue stream) {
  const OwnedEvent marker = marker_of(*event);
  // Never recorded: no wait.
  if (!marker) return {};
  GANTRY_TRY(const cl_command_queue queue, plugin.driver.queue(device, stream));
  const cl_event awaited = marker.get();
  const cl_int error = clEnqueueBarrierWithWaitList(queue, 1, &awaited, nullptr);
  if (error == CL_SUCCESS) return {};
  return driver_error(error, concat("clEnqueueBarrierWithWaitList on ", device.described()));
}

Result<std::int64_t> DeviceFunctions::event_elapsed(Event* start, Event* stop) {
  GANTRY_TRY(const cl_ulong begun, time_of(*start, "start"));
  GANTRY_TRY(const cl_ulong ended, time_of(*stop, "stop"));
  return static_cast<std::int64_t>(ended - begun);
}

// An event is also reached if work before it failed, which synchronize reports.
Result<bool> DeviceFunctions::event_reached(Event* event, std::int64_t timeout_ns) {
  const OwnedEvent marker = marker_of(*event);
  if (!marker) return invalid("event was never recorded").with_reason("EVENT");
  const cl_event awaited = marker.get();
  if (timeout_ns == GANTRY_NO_TIMEOUT) {
    const cl_int error = clWaitForEvents(1, &awaited);
    if (error == CL_SUCCESS || error == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST) return true;
    return driver_error(error, concat("clWaitForEvents on ", device.described()));
  }
  return poll(timeout_ns, [&]() -> Result<bool> {
    cl_int state = CL_QUEUED;
    const cl_int error =
        clGetEventInfo(awaited, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, nullptr);
    if (error != CL_SUCCESS)
      return driver_error(error, concat("clGetEventInfo on ", device.described()));
    return state <= CL_COMPLETE;
  });
}

Status DeviceFunctions::stream_notify(cl_command_queue stream, void (*notify)(void* argument),
                                      void* argument) {
  GANTRY_TRY(const cl_command_queue queue, plugin.driver.queue(device, stream));
  cl_event marker = nullptr;
  cl_int error = clEnqueueMarkerWithWaitList(queue, 0, nullptr, &marker);
  if (error != CL_SUCCESS)
    return driver_error(error, concat("clEnqueueMarkerWithWaitList on ", device.described()));
  const OwnedEvent owned(marker);
  Notices::One* const one = device.notices.add(notify, argument);
  error = clSetEventCallback(
      marker, CL_COMPLETE, [](cl_event, cl_int, void* self) { Notices::deliver(self); }, one);
  if (error != CL_SUCCESS) {
    device.notices.withdraw(one);
    return driver_error(error, concat("clSetEventCallback on ", device.described()));
  }
  // Nothing else is certain to submit the queue. The call has been made if this fails.
  clFlush(queue);
  return {};
}

// ---- handles of the driver

Result<cl_command_queue> DeviceFunctions::stream_import(void* handle) {
  const auto queue = static_cast<cl_command_queue>(handle);
  GANTRY_TRY(const cl_context own, plugin.driver.context(device));
  cl_context context = nullptr;
  cl_device_id id = nullptr;
  cl_int error = clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, nullptr);
  if (error == CL_SUCCESS)
    error = clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof id, &id, nullptr);
  if (error != CL_SUCCESS) return driver_error(error, "clGetCommandQueueInfo");
  if (context != own || id != device.id) {
    return invalid("the command queue is of another ", context != own ? "context" : "device",
                   ", expected those that native_get returns for ", device.described())
        .with_reason("STREAM");
  }
  error = clRetainCommandQueue(queue);
  if (error != CL_SUCCESS) return driver_error(error, "clRetainCommandQueue");
  return queue;
}

Result<void*> DeviceFunctions::native_get(std::int32_t kind, void* object) {
  switch (kind) {
    case GANTRY_NATIVE_CONTEXT: {
      GANTRY_TRY(const cl_context context, plugin.driver.context(device));
      return static_cast<void*>(context);
    }
    case GANTRY_NATIVE_STREAM: {
      GANTRY_TRY(const cl_command_queue queue, plugin.driver.queue(device, object));
      return static_cast<void*>(queue);
    }
    case GANTRY_NATIVE_MEMORY: {
      GANTRY_TRY(const Buffer* const buffer, buffer_of(object));
      return static_cast<void*>(buffer->memory.get());
    }
    default:
      return no_native_handle("opencl", kind);
  }
}

}  // namespace gantry::opencl
