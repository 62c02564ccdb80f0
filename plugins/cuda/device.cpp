// SPDX-License-Identifier: Apache-2.0
#include "device.hpp"

#include <gantry/byte_count.hpp>
#include <gantry/device_name.hpp>

#include <utility>

namespace gantry::cuda {
namespace {

CUdeviceptr address_of(const gantry_location& location) {
  return reinterpret_cast<CUdeviceptr>(location.data) + location.byte_offset;
}

}  // namespace

Result<int> number_of(const Driver& driver, CUdevice device, CUdevice_attribute attribute) {
  int number = 0;
  GANTRY_CHECK(driver.call(driver.device_get_attribute, &number, attribute, device));
  return number;
}

Result<Architecture> architecture_of(const Driver& driver, CUdevice device) {
  GANTRY_TRY(const int major,
             number_of(driver, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR));
  GANTRY_TRY(const int minor,
             number_of(driver, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
  return Architecture{static_cast<std::uint32_t>(major), static_cast<std::uint32_t>(minor)};
}

Result<std::string> name_of(const Driver& driver, CUdevice device) {
  char name[256] = {};
  GANTRY_CHECK(
      driver.call(driver.device_get_name, &name[0], static_cast<int>(sizeof name), device));
  name[sizeof name - 1] = 0;
  return std::string(name);
}

Result<std::unique_ptr<Device>> Device::open(const Driver& driver, Host host, int index) {
  std::unique_ptr<Device> device(new Device(driver, host, index));
  GANTRY_CHECK(driver.call(driver.device_get, &device->handle_, index));
  GANTRY_TRY(device->name_, name_of(driver, device->handle_));
  GANTRY_TRY(device->architecture_, architecture_of(driver, device->handle_));
  GANTRY_CHECK(driver.call(driver.primary_context_retain, &device->context_, device->handle_));
  GANTRY_TRY(const ContextScope scope, device->enter());
  GANTRY_CHECK(driver.call(driver.stream_create, &device->stream_,
                           static_cast<unsigned>(CU_STREAM_DEFAULT)));
  return device;
}

// Failures are ignored: the driver may already be shut down at process exit.
Device::~Device() {
  if (context_ == nullptr) return;
  if (const Result<ContextScope> scope = enter(); scope.ok()) {
    if (stream_ != nullptr) {
      driver.stream_synchronize.function(stream_);
      driver.stream_destroy.function(stream_);
    }
    // Streams that were destroyed may still have to call.
    if (!notices.is_empty()) driver.context_synchronize.function();
    (void)spans_.take_all();
    staging_.close();
    memory.close();
  } else {
    notices.deliver_all();
  }
  driver.primary_context_release.function(handle_);
}

CUstream Device::import_stream(CUstream stream) {
  const std::lock_guard lock(imported_mutex_);
  imported_.insert(stream);
  return stream;
}

bool Device::forget_imported(CUstream stream) {
  const std::lock_guard lock(imported_mutex_);
  const auto known = imported_.find(stream);
  if (known == imported_.end()) return false;
  imported_.erase(known);
  return true;
}

std::string Device::text() const { return concat("device ", index_, " (", name_, ')'); }

// True if the driver would copy this memory before it returns. Nothing is staged while a stream is
// captured: the graph would copy the later content of the ring.
Result<bool> Device::is_staged(const void* host_memory, std::uint64_t size, CUstream stream) const {
  if (size < Staging::min_bytes) return false;
  CUmemorytype type{};
  const CUresult known = driver.pointer_get_attribute.function(
      &type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, reinterpret_cast<CUdeviceptr>(host_memory));
  // Page-locked or managed.
  if (known == CUDA_SUCCESS) return false;
  if (known != CUDA_ERROR_INVALID_VALUE) {
    return driver.failed(driver.pointer_get_attribute.name, known);
  }
  CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
  GANTRY_CHECK(driver.call(driver.stream_is_capturing, stream, &capture));
  return capture == CU_STREAM_CAPTURE_STATUS_NONE;
}

Status Device::copy_with_host(const gantry_copy& what, CUstream stream, bool to_host) {
  const gantry_location& host_location = to_host ? what.to : what.from;
  const gantry_location& device_location = to_host ? what.from : what.to;
  char* const host_memory = static_cast<char*>(host_location.data) + host_location.byte_offset;
  const CUdeviceptr address = address_of(device_location);
  if ((what.flags & GANTRY_COPY_BLOCKING) == 0) {
    GANTRY_TRY(const bool staged, is_staged(host_memory, what.size, stream));
    if (staged && to_host) return staging_.to_host(host_memory, address, what.size, stream);
    if (staged) return staging_.to_device(address, host_memory, what.size, stream);
  }
  if (to_host) {
    return driver.call(driver.copy_to_host, static_cast<void*>(host_memory), address, what.size,
                       stream);
  }
  return driver.call(driver.copy_to_device, address, static_cast<const void*>(host_memory),
                     what.size, stream);
}

Status Device::copy(const gantry_copy& what, void* stream_given, Devices& devices) {
  for (const gantry_location* location : {&what.from, &what.to}) {
    if (location->device.type == cpu_device_type || location->device.type == cuda_type) continue;
    return invalid("copy has a side on device type ", location->device.type,
                   ", expected host memory (1) or cuda (2)")
        .with_reason("DEVICE_TYPE");
  }
  const bool from_host = what.from.device.type == cpu_device_type;
  const bool to_host = what.to.device.type == cpu_device_type;
  if (from_host && to_host) {
    return invalid("both sides of the copy are host memory, expected one on cuda")
        .with_reason("DEVICE_TYPE");
  }
  if (what.size == 0) return {};
  const CUstream stream = stream_of(stream_given);
  const auto context_of = [&](const gantry_device_id& side) -> Result<CUcontext> {
    if (side.type != cuda_type || side.index == index_) return context_;
    GANTRY_TRY(Device* const other, devices.at(side.index));
    other->copied_by_ |= std::uint64_t{1} << index_;
    return other->context();
  };
  GANTRY_TRY(const CUcontext from_context, context_of(what.from.device));
  GANTRY_TRY(const CUcontext to_context, context_of(what.to.device));
  const auto enqueue = [&]() -> Status {
    if (from_host || to_host) return copy_with_host(what, stream, to_host);
    const CUdeviceptr source = address_of(what.from);
    const CUdeviceptr target = address_of(what.to);
    if (from_context == context_ && to_context == context_) {
      return driver.call(driver.copy_on_device, target, source, what.size, stream);
    }
    return driver.call(driver.copy_to_peer, target, to_context, source, from_context, what.size,
                       stream);
  };
  Status copied = enqueue();
  if (copied.ok() && (what.flags & GANTRY_COPY_BLOCKING) != 0) {
    copied = driver.call(driver.stream_synchronize, stream);
    if (copied.ok()) finished(stream_given);
  }
  if (!copied.ok()) copied.error().at("while copying ", ByteCount(what.size), " on ", text());
  return copied;
}

// The driver measures between events only, so one that is reached when this thread continues is the
// anchor.
void Device::finished(void* stream) {
  const auto kernels = spans_.take(stream);
  if (kernels.empty()) return;
  const OwnedEvent reached = OwnedEvent::record(driver, stream_of(stream));
  if (!reached || driver.event_synchronize.function(reached.get()) != CUDA_SUCCESS) return;
  const ClockAnchor anchor{0, spans_.now()};
  for (const auto& kernel : kernels) {
    const auto first = kernel.mark.first.until(reached);
    const auto last = kernel.mark.last.until(reached);
    if (first && last) spans_.record(kernel, anchor.trace_time(-*first), anchor.trace_time(-*last));
  }
}

void Device::free(void* data, Devices& devices) {
  const std::uint64_t copied_by = data == nullptr ? 0 : copied_by_.exchange(0);
  for (std::int32_t i = 0; i < Devices::max; ++i) {
    if ((copied_by >> i & 1u) == 0) continue;
    const auto wait = [&]() -> Status {
      GANTRY_TRY(Device* const other, devices.at(i));
      GANTRY_TRY(const ContextScope scope, other->enter());
      return driver.call(driver.context_synchronize);
    };
    if (const Status waited = wait(); !waited.ok()) {
      host_.log(GANTRY_LOG_WARNING,
                Message(waited.error().message)
                    .at("while waiting for device ", i, " before memory of ", text(), " is freed"));
    }
  }
  memory.free(data);
}

Result<const Driver*> Devices::driver() {
  if (const Driver* const opened = opened_driver_.load(std::memory_order_acquire)) return opened;
  const std::lock_guard lock(mutex_);
  if (driver_ == nullptr) {
    GANTRY_TRY(driver_, Driver::open(host_.option_text("library")));
    opened_driver_.store(driver_.get(), std::memory_order_release);
  }
  return static_cast<const Driver*>(driver_.get());
}

Status Devices::check_index(const Driver& driver, std::int32_t index) const {
  const int count = std::min<int>(driver.device_count(), max);
  if (index >= 0 && index < count) return {};
  return invalid("device index is ", index, ", the CUDA driver shows ", count, " devices",
                 count == 0 ? " (is CUDA_VISIBLE_DEVICES set, and is the GPU's node in /dev?)" : "")
      .with_reason("DEVICE_INDEX");
}

Result<Device*> Devices::at(std::int32_t index) {
  if (index >= 0 && index < max) {
    Device* const opened = opened_[static_cast<std::size_t>(index)].load(std::memory_order_acquire);
    if (opened != nullptr) return opened;
  }
  GANTRY_TRY(const Driver* const opened_driver, driver());
  GANTRY_CHECK(check_index(*opened_driver, index));
  const std::lock_guard lock(mutex_);
  std::unique_ptr<Device>& device = devices_[static_cast<std::size_t>(index)];
  if (device == nullptr) {
    Result<std::unique_ptr<Device>> made = Device::open(*opened_driver, host_, index);
    if (!made.ok()) return std::move(made).failure().at("while opening device ", index);
    device = std::move(*made);
    opened_[static_cast<std::size_t>(index)].store(device.get(), std::memory_order_release);
  }
  return device.get();
}

std::int64_t Devices::live_bytes(std::int32_t index) const {
  if (index < 0 || index >= max) return 0;
  const Device* const device =
      opened_[static_cast<std::size_t>(index)].load(std::memory_order_acquire);
  return device == nullptr ? 0 : device->memory.live_bytes();
}

Result<CUdevice> Devices::handle(std::int32_t index) {
  GANTRY_TRY(const Driver* const opened, driver());
  GANTRY_CHECK(check_index(*opened, index));
  CUdevice device = 0;
  GANTRY_CHECK(opened->call(opened->device_get, &device, index));
  return device;
}

}  // namespace gantry::cuda
