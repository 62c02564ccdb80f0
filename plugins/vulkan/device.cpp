// SPDX-License-Identifier: Apache-2.0
#include "device.hpp"

#include <gantry/byte_count.hpp>
#include <gantry/device_name.hpp>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

namespace gantry::vulkan {
namespace {

constexpr std::uint64_t staging_bytes = 8 << 20;

Status check_range(const Buffer& buffer, std::string_view side, std::uint64_t offset,
                   std::uint64_t size) {
  if (offset <= buffer.size && size <= buffer.size - offset) return {};
  return invalid("copy of ", ByteCount(size), " ", side, " byte ", offset, ", the memory has ",
                 ByteCount(buffer.size))
      .with_reason("COPY_RANGE");
}

std::uint8_t* host_address(const gantry_location& location) {
  return static_cast<std::uint8_t*>(location.data) + location.byte_offset;
}

}  // namespace

Event::~Event() {
  if (query != VK_NULL_HANDLE) vkDestroyQueryPool(device, query, nullptr);
}

Timestamps::~Timestamps() {
  if (query != VK_NULL_HANDLE) vkDestroyQueryPool(device, query, nullptr);
}

Result<std::unique_ptr<Device>> Device::create(Host host, const Gpu& gpu, std::int32_t index,
                                               const Options& options) {
  std::unique_ptr<Device> device(new Device(host, gpu, index));
  auto started = device->start(options);
  if (!started.ok()) {
    return std::move(started).error().at("while starting device vulkan:", index, ", ",
                                         std::string_view(gpu.properties.deviceName));
  }
  return device;
}

Device::~Device() {
  recorder_.reset();
  (void)spans_.take_all();
  for (auto& buffer : uploads_) buffer.reset();
  for (auto& buffer : downloads_) buffer.reset();
  host_buffers_.clear();
  memory_.reset();
  if (device_ != VK_NULL_HANDLE) vkDestroyDevice(device_, nullptr);
}

Status Device::start(const Options& options) {
  const float priority = 1;
  VkDeviceQueueCreateInfo queue{VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO};
  queue.queueFamilyIndex = gpu_.queue_family;
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;
  Features features;
  features.read(gpu_.handle);
  VkDeviceCreateInfo info{VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO};
  info.pNext = &features.core;
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queue;
  const bool pushes =
      gpu_.max_push_descriptors != 0 && options.descriptors != DescriptorChoice::sets;
  if (!pushes && options.descriptors == DescriptorChoice::push) {
    return unavailable("option descriptors is push, the device has no ",
                       VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME)
        .with_reason("EXTENSION_MISSING");
  }
  std::vector<const char*> extensions;
  if (pushes) extensions.push_back(VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME);
  if (gpu_.host_memory_alignment != 0)
    extensions.push_back(VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME);
  if (gpu_.descriptor_kinds != 0) extensions.push_back(VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME);
  if ((gpu_.descriptor_kinds & VK_EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT) != 0)
    extensions.push_back(VK_EXT_EXTERNAL_MEMORY_DMA_BUF_EXTENSION_NAME);
  if (gpu_.has_foreign_queues) extensions.push_back(VK_EXT_QUEUE_FAMILY_FOREIGN_EXTENSION_NAME);
  if (gpu_.calibrates_time) extensions.push_back(VK_EXT_CALIBRATED_TIMESTAMPS_EXTENSION_NAME);
  info.enabledExtensionCount = static_cast<std::uint32_t>(extensions.size());
  info.ppEnabledExtensionNames = extensions.data();
  GANTRY_CHECK(checked(vkCreateDevice(gpu_.handle, &info, nullptr, &device_), "vkCreateDevice"));
  if (pushes) {
    push_descriptors_ = reinterpret_cast<PFN_vkCmdPushDescriptorSetKHR>(
        vkGetDeviceProcAddr(device_, "vkCmdPushDescriptorSetKHR"));
  }
  if (gpu_.calibrates_time) {
    calibrated_timestamps_ = reinterpret_cast<PFN_vkGetCalibratedTimestampsEXT>(
        vkGetDeviceProcAddr(device_, "vkGetCalibratedTimestampsEXT"));
  }
  memory_ = std::make_unique<Memory>(device_, gpu_, options.memory);
  recorder_ = std::make_unique<Recorder>(device_, gpu_, *memory_);
  return recorder_->start();
}

Result<Buffer*> Device::alloc(std::uint64_t size) {
  Recorder::Lock lock(recorder_->mutex());
  recorder_->collect();
  lock.unlock();
  auto made = memory_->make(size, BufferUse::data);
  if (!made.ok() && made.error().code == Code::exhausted && size <= gpu_.max_allocation_bytes) {
    lock.lock();
    GANTRY_CHECK(recorder_->wait_for_all(lock));
    lock.unlock();
    made = memory_->make(size, BufferUse::data);
  }
  if (!made.ok()) return std::move(made).failure();
  (*made)->cell = {Handle::live, made->get()};
  (*made)->owner = this;
  allocated_bytes_.fetch_add(static_cast<std::int64_t>(size), std::memory_order_relaxed);
  return made->release();
}

Result<void*> Device::alloc_host(std::uint64_t size, std::uint64_t alignment) {
  const std::uint64_t room = std::max<std::uint64_t>(alignment, 1) - 1;
  if (size > UINT64_MAX - room) {
    return exhausted("host memory of ", ByteCount(size), " at a multiple of ", alignment,
                     " is more than any memory")
        .with_reason("MEMORY");
  }
  GANTRY_TRY(std::unique_ptr<Buffer> buffer, memory_->make(size + room, BufferUse::download));
  if (!buffer->is_coherent || !buffer->is_cached) {
    return unsupported("memory scope \"host\" is not supported: no memory of device vulkan:",
                       index_, " is visible to the host, coherent and cached")
        .with_reason("MEMORY_SCOPE");
  }
  buffer->size = size;
  const std::uintptr_t address =
      (reinterpret_cast<std::uintptr_t>(buffer->mapped) + room) & ~std::uintptr_t{room};
  const std::lock_guard lock(host_mutex_);
  host_buffers_.emplace(address, std::move(buffer));
  allocated_bytes_.fetch_add(static_cast<std::int64_t>(size), std::memory_order_relaxed);
  return reinterpret_cast<void*>(address);
}

bool Device::free_host(void* data) {
  std::unique_ptr<Buffer> buffer;
  {
    const std::lock_guard lock(host_mutex_);
    const auto found = host_buffers_.find(reinterpret_cast<std::uintptr_t>(data));
    if (found == host_buffers_.end()) return false;
    buffer = std::move(found->second);
    host_buffers_.erase(found);
  }
  allocated_bytes_.fetch_sub(static_cast<std::int64_t>(buffer->size), std::memory_order_relaxed);
  const Recorder::Lock lock(recorder_->mutex());
  const std::uint64_t last_use = buffer->last_use;
  recorder_->discard(std::move(buffer), last_use);
  return true;
}

std::optional<Device::HostPart> Device::host_part(const gantry_location& location,
                                                  std::uint64_t size) {
  const std::uintptr_t address = reinterpret_cast<std::uintptr_t>(host_address(location));
  const std::lock_guard lock(host_mutex_);
  auto found = host_buffers_.upper_bound(address);
  if (found == host_buffers_.begin()) return std::nullopt;
  --found;
  const std::uint64_t begin = address - found->first;
  Buffer& buffer = *found->second;
  if (begin > buffer.size || size > buffer.size - begin) return std::nullopt;
  return HostPart{&buffer, address - reinterpret_cast<std::uintptr_t>(buffer.mapped)};
}

Status Device::copy_with_host(const HostPart& part, Buffer& buffer, const gantry_copy& what,
                              bool to_host) {
  Recorder::Lock lock(recorder_->mutex());
  GANTRY_CHECK(
      to_host
          ? record_copy(lock, buffer, what.from.byte_offset, *part.buffer, part.offset, what.size)
          : record_copy(lock, *part.buffer, part.offset, buffer, what.to.byte_offset, what.size));
  if ((what.flags & GANTRY_COPY_BLOCKING) == 0) return {};
  return recorder_->wait(lock, part.buffer->last_use);
}

void Device::free(Buffer* buffer) {
  std::unique_ptr<Buffer> owned(buffer);
  owned->cell.magic = 0;
  if (!owned->is_imported)
    allocated_bytes_.fetch_sub(static_cast<std::int64_t>(owned->size), std::memory_order_relaxed);
  Recorder::Lock lock(recorder_->mutex());
  // Others may use the memory after the return. Only a lost device fails, and its work has ended.
  if (owned->other_family) {
    static_cast<void>(transfer(lock, *owned, gpu_.queue_family, *owned->other_family).ok() &&
                      recorder_->wait(lock, owned->last_use).ok());
  }
  const std::uint64_t last_use = owned->last_use;
  recorder_->discard(std::move(owned), last_use);
}

Result<Buffer*> Device::import_memory(const gantry_external& what) {
  std::unique_ptr<Buffer> buffer;
  if (what.kind == GANTRY_EXTERNAL_HOST) {
    GANTRY_TRY(buffer, memory_->import_host(static_cast<std::uint8_t*>(what.handle) + what.offset,
                                            what.size));
  } else if (what.kind == GANTRY_EXTERNAL_NATIVE) {
    GANTRY_CHECK(memory_->check_offset(what.offset));
    buffer = std::make_unique<Buffer>();
    buffer->device = device_;
    buffer->handle = reinterpret_cast<VkBuffer>(what.handle);
    buffer->base = what.offset;
    buffer->size = what.size;
    buffer->is_imported = true;
  } else {
    GANTRY_TRY(buffer, memory_->import_descriptor(what));
    Recorder::Lock lock(recorder_->mutex());
    GANTRY_CHECK(transfer(lock, *buffer, *buffer->other_family, gpu_.queue_family));
  }
  buffer->cell = {Handle::live, buffer.get()};
  buffer->owner = this;
  return buffer.release();
}

Status Device::transfer(Recorder::Lock& lock, Buffer& buffer, std::uint32_t from,
                        std::uint32_t to) {
  GANTRY_TRY(Batch* const batch, recorder_->begin(lock));
  VkBufferMemoryBarrier barrier{VK_STRUCTURE_TYPE_BUFFER_MEMORY_BARRIER};
  barrier.srcAccessMask = barrier.dstAccessMask =
      VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT;
  barrier.srcQueueFamilyIndex = from;
  barrier.dstQueueFamilyIndex = to;
  barrier.buffer = buffer.handle;
  barrier.size = VK_WHOLE_SIZE;
  vkCmdPipelineBarrier(batch->commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                       VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 0, nullptr, 1, &barrier, 0, nullptr);
  buffer.last_use = recorder_->value();
  return recorder_->done(*batch);
}

void Device::trim() {
  Recorder::Lock lock(recorder_->mutex());
  recorder_->collect();
  lock.unlock();
  memory_->trim();
}

Result<Buffer*> Device::buffer_at(void* data) const {
  const auto* const handle = static_cast<const Handle*>(data);
  if (data == nullptr || reinterpret_cast<std::uintptr_t>(data) % alignof(Handle) != 0 ||
      handle->magic != Handle::live) {
    return invalid(Hex{reinterpret_cast<std::uintptr_t>(data)},
                   " is not memory of device vulkan:", index_,
                   ": pass the handle from alloc unchanged, and offsets in byte_offset")
        .with_reason("DEVICE_DATA");
  }
  Buffer* const buffer = handle->buffer;
  if (buffer->owner != this) {
    return invalid("memory is of device vulkan:", buffer->owner->index(),
                   ", the call is on vulkan:", index_)
        .with_reason("DEVICE_DATA");
  }
  return buffer;
}

Status Device::synchronize() {
  Recorder::Lock lock(recorder_->mutex());
  GANTRY_CHECK(recorder_->wait_for_all(lock));
  finished(lock);
  return {};
}

std::unique_ptr<Timestamps> Device::new_timestamps() const {
  if (gpu_.timestamp_bits == 0) return nullptr;
  auto made = std::make_unique<Timestamps>();
  made->device = device_;
  VkQueryPoolCreateInfo info{VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO};
  info.queryType = VK_QUERY_TYPE_TIMESTAMP;
  info.queryCount = 2;
  if (vkCreateQueryPool(device_, &info, nullptr, &made->query) != VK_SUCCESS) return nullptr;
  return made;
}

std::int64_t Device::nanoseconds(std::uint64_t from_ticks, std::uint64_t to_ticks) const {
  // The clock may have fewer than 64 bits and may have wrapped around.
  const unsigned unused = 64 - std::min(gpu_.timestamp_bits, 64u);
  const auto passed = static_cast<std::int64_t>((to_ticks - from_ticks) << unused) >> unused;
  const double period = static_cast<double>(gpu_.properties.limits.timestampPeriod);
  return static_cast<std::int64_t>(static_cast<double>(passed) * period);
}

// Without VK_EXT_calibrated_timestamps, a timestamp is taken when this thread continues.
std::optional<Device::Anchor> Device::anchor(Recorder::Lock& lock) {
  if (calibrated_timestamps_ != nullptr) {
    VkCalibratedTimestampInfoEXT clocks[2] = {{VK_STRUCTURE_TYPE_CALIBRATED_TIMESTAMP_INFO_EXT},
                                              {VK_STRUCTURE_TYPE_CALIBRATED_TIMESTAMP_INFO_EXT}};
    clocks[0].timeDomain = VK_TIME_DOMAIN_DEVICE_EXT;
    clocks[1].timeDomain = VK_TIME_DOMAIN_CLOCK_MONOTONIC_EXT;
    std::uint64_t times[2] = {};
    std::uint64_t deviation = 0;
    if (calibrated_timestamps_(device_, 2, clocks, times, &deviation) != VK_SUCCESS)
      return std::nullopt;
    // std::chrono::steady_clock is CLOCK_MONOTONIC, the trace's clock has another origin.
    const auto monotonic = std::chrono::steady_clock::now().time_since_epoch();
    const std::int64_t since =
        std::chrono::nanoseconds(monotonic).count() - static_cast<std::int64_t>(times[1]);
    return Anchor{times[0], spans_.now() - since};
  }
  auto mark = new_timestamps();
  const auto begun = mark ? recorder_->begin(lock) : Result<Batch*>(nullptr);
  if (!begun.ok() || *begun == nullptr) return std::nullopt;
  vkCmdResetQueryPool((*begun)->commands, mark->query, 0, 1);
  vkCmdWriteTimestamp((*begun)->commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, mark->query, 0);
  const std::uint64_t value = recorder_->value();
  const bool waited = recorder_->done(**begun).ok() && recorder_->wait(lock, value).ok();
  const std::int64_t now = spans_.now();
  std::uint64_t ticks = 0;
  const VkResult read = waited ? vkGetQueryPoolResults(device_, mark->query, 0, 1, sizeof ticks,
                                                       &ticks, sizeof ticks, VK_QUERY_RESULT_64_BIT)
                               : VK_NOT_READY;
  recorder_->discard(std::move(mark), value);
  if (read != VK_SUCCESS) return std::nullopt;
  return Anchor{ticks, now};
}

void Device::finished(Recorder::Lock& lock) {
  const std::uint64_t completed = recorder_->completed();
  const auto dispatches =
      spans_.take_if([&](const auto& each) { return each.mark->value <= completed; });
  if (dispatches.empty()) return;
  const auto there = anchor(lock);
  if (!there) return;
  const ClockAnchor clock{0, there->trace_ns};
  for (const auto& dispatch : dispatches) {
    std::uint64_t ticks[2] = {};
    if (vkGetQueryPoolResults(device_, dispatch.mark->query, 0, 2, sizeof ticks, ticks,
                              sizeof ticks[0], VK_QUERY_RESULT_64_BIT) != VK_SUCCESS)
      continue;
    spans_.record(dispatch, clock.trace_time(nanoseconds(there->ticks, ticks[0])),
                  clock.trace_time(nanoseconds(there->ticks, ticks[1])));
  }
}

Status Device::dispatch(const Dispatch& what) {
  constexpr std::size_t max_inline = 16;
  std::array<VkDescriptorBufferInfo, max_inline> few;
  std::vector<VkDescriptorBufferInfo> many;
  if (what.buffers.size() > max_inline) many.resize(what.buffers.size());
  VkDescriptorBufferInfo* const infos = many.empty() ? few.data() : many.data();
  for (std::size_t i = 0; i < what.buffers.size(); ++i) {
    const Bound& bound = what.buffers[i];
    infos[i] = {bound.buffer->handle, bound.buffer->base + bound.offset, VK_WHOLE_SIZE};
  }
  const Pipeline& pipeline = *what.pipeline;

  Recorder::Lock lock(recorder_->mutex());
  GANTRY_TRY(Batch* const batch, recorder_->begin(lock));
  VkDescriptorBufferInfo scalars{};
  if (pipeline.has_uniform_buffer) {
    GANTRY_TRY(const Recorder::Slot slot, recorder_->scalar_slot(*batch, what.scalars.size()));
    std::memcpy(slot.buffer->mapped + slot.offset, what.scalars.data(), what.scalars.size());
    scalars = {slot.buffer->handle, slot.offset, what.scalars.size()};
  }
  std::array<VkWriteDescriptorSet, 2> writes{};
  std::uint32_t write_count = 0;
  const auto write = [&](std::uint32_t binding, std::size_t count, VkDescriptorType type,
                         const VkDescriptorBufferInfo* buffers) {
    VkWriteDescriptorSet& one = writes[write_count++];
    one.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
    one.dstBinding = binding;
    // A count above 1 continues with the next bindings.
    one.descriptorCount = static_cast<std::uint32_t>(count);
    one.descriptorType = type;
    one.pBufferInfo = buffers;
  };
  if (!what.buffers.empty())
    write(0, what.buffers.size(), VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, infos);
  if (pipeline.has_uniform_buffer) {
    write(static_cast<std::uint32_t>(what.buffers.size()), 1, VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER,
          &scalars);
  }

  const VkCommandBuffer commands = batch->commands;
  if (batch->bound != pipeline.handle) {
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.handle);
    batch->bound = pipeline.handle;
  }
  if (write_count != 0 && pipeline.pushes_descriptors) {
    push_descriptors_(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.layout, 0, write_count,
                      writes.data());
  } else if (write_count != 0) {
    GANTRY_TRY(const VkDescriptorSet set, recorder_->descriptor_set(*batch, pipeline.set_layout));
    for (std::uint32_t i = 0; i < write_count; ++i) writes[i].dstSet = set;
    vkUpdateDescriptorSets(device_, write_count, writes.data(), 0, nullptr);
    vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.layout, 0, 1, &set,
                            0, nullptr);
  }
  if (pipeline.push_constant_bytes != 0) {
    vkCmdPushConstants(commands, pipeline.layout, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                       pipeline.push_constant_bytes, what.scalars.data());
  }
  const std::int64_t begun = spans_.launch_time();
  std::unique_ptr<Timestamps> measured = begun < 0 ? nullptr : new_timestamps();
  const auto take_time = [&](std::uint32_t index) {
    if (measured)
      vkCmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, measured->query, index);
  };
  if (measured) vkCmdResetQueryPool(commands, measured->query, 0, 2);
  take_time(0);
  vkCmdDispatch(commands, what.grid[0], what.grid[1], what.grid[2]);
  take_time(1);
  const std::uint64_t value = recorder_->value();
  if (measured) {
    measured->value = value;
    spans_.launched(nullptr,
                    {std::string(what.name),
                     {what.grid[0], what.grid[1], what.grid[2]},
                     {what.block[0], what.block[1], what.block[2]}},
                    begun, std::move(measured));
  }
  for (const Bound& bound : what.buffers) bound.buffer->last_use = value;
  return recorder_->done(*batch);
}

Result<std::unique_ptr<Event>> Device::new_event(bool timed) {
  auto event = std::make_unique<Event>();
  event->device = device_;
  if (gpu_.timestamp_bits == 0 || !timed) return event;
  VkQueryPoolCreateInfo info{VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO};
  info.queryType = VK_QUERY_TYPE_TIMESTAMP;
  info.queryCount = 1;
  GANTRY_CHECK(
      checked(vkCreateQueryPool(device_, &info, nullptr, &event->query), "vkCreateQueryPool"));
  return event;
}

Status Device::record(Event& event) {
  Recorder::Lock lock(recorder_->mutex());
  GANTRY_TRY(Batch* const batch, recorder_->begin(lock));
  if (event.query != VK_NULL_HANDLE) {
    vkCmdResetQueryPool(batch->commands, event.query, 0, 1);
    vkCmdWriteTimestamp(batch->commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, event.query, 0);
  }
  event.value = recorder_->value();
  return recorder_->done(*batch);
}

Result<std::int64_t> Device::nanoseconds_between(Event& start, Event& stop) {
  if (gpu_.timestamp_bits == 0) {
    return unsupported("device vulkan:", index_, " has no clock in its queue")
        .with_reason("NO_CLOCK");
  }
  std::array<std::uint64_t, 2> ticks{};
  {
    Recorder::Lock lock(recorder_->mutex());
    if (start.value == 0 || stop.value == 0) {
      return invalid("event ", start.value == 0 ? "start" : "stop", " was never recorded")
          .with_reason("EVENT");
    }
    if (start.query == VK_NULL_HANDLE || stop.query == VK_NULL_HANDLE) {
      return invalid("event ", start.query == VK_NULL_HANDLE ? "start" : "stop", " has no time")
          .with_reason("EVENT");
    }
    GANTRY_CHECK(recorder_->wait(lock, std::max(start.value, stop.value)));
  }
  const std::array<VkQueryPool, 2> pools{start.query, stop.query};
  for (std::size_t i = 0; i < 2; ++i) {
    GANTRY_CHECK(checked(vkGetQueryPoolResults(device_, pools[i], 0, 1, sizeof ticks[i], &ticks[i],
                                               sizeof ticks[i], VK_QUERY_RESULT_64_BIT),
                         "vkGetQueryPoolResults"));
  }
  return nanoseconds(ticks[0], ticks[1]);
}

Result<bool> Device::is_reached(const Event& event, std::int64_t timeout_ns) {
  Recorder::Lock lock(recorder_->mutex());
  if (event.value == 0) return invalid("event was never recorded").with_reason("EVENT");
  const bool waits = timeout_ns == GANTRY_NO_TIMEOUT;
  return recorder_->wait_for(lock, event.value,
                             waits ? UINT64_MAX : static_cast<std::uint64_t>(timeout_ns));
}

void Device::discard(std::unique_ptr<Resource> resource) {
  const Recorder::Lock lock(recorder_->mutex());
  recorder_->discard(std::move(resource), recorder_->value());
}

// Copies. The host copies mapped memory itself, after the device's work with the buffer has
// finished. Other copies alternate between two staging buffers, so that host and device work in
// parallel.
Status Device::copy(const gantry_copy& what) {
  const auto is_host = [](const gantry_location& location) {
    return location.device.type == cpu_device_type;
  };
  for (const gantry_location* location : {&what.from, &what.to}) {
    if (is_host(*location) || location->device.type == vulkan_type) continue;
    return unsupported("copy between vulkan and device type ", location->device.type)
        .with_reason("COPY_DEVICES");
  }
  if (is_host(what.from) && is_host(what.to)) {
    return invalid("copy from host to host, one side must be device vulkan:", index_)
        .with_reason("COPY_DEVICES");
  }
  if (!is_host(what.from) && !is_host(what.to) && what.from.device.index != what.to.device.index) {
    return unsupported("copy from vulkan:", what.from.device.index,
                       " to vulkan:", what.to.device.index,
                       ": devices do not reach each other's memory")
        .with_reason("COPY_DEVICES");
  }
  Buffer* from = nullptr;
  Buffer* to = nullptr;
  if (!is_host(what.from)) {
    GANTRY_TRY(from, buffer_at(what.from.data));
    GANTRY_CHECK(check_range(*from, "from", what.from.byte_offset, what.size));
  }
  if (!is_host(what.to)) {
    GANTRY_TRY(to, buffer_at(what.to.data));
    GANTRY_CHECK(check_range(*to, "to", what.to.byte_offset, what.size));
  }
  if (what.size == 0) return {};
  if (from == nullptr || to == nullptr) {
    if (const auto part = host_part(from == nullptr ? what.from : what.to, what.size))
      return copy_with_host(*part, from == nullptr ? *to : *from, what, to == nullptr);
  }
  if (from == nullptr) return upload(host_address(what.from), *to, what.to.byte_offset, what.size);
  if (to == nullptr) {
    GANTRY_CHECK(download(*from, what.from.byte_offset, host_address(what.to), what.size));
    Recorder::Lock lock(recorder_->mutex());
    finished(lock);
    return {};
  }
  Recorder::Lock lock(recorder_->mutex());
  return record_copy(lock, *from, what.from.byte_offset, *to, what.to.byte_offset, what.size);
}

Status Device::record_copy(Recorder::Lock& lock, Buffer& from, std::uint64_t from_offset,
                           Buffer& to, std::uint64_t to_offset, std::uint64_t size) {
  GANTRY_TRY(Batch* const batch, recorder_->begin(lock));
  const VkBufferCopy region{from.base + from_offset, to.base + to_offset, size};
  vkCmdCopyBuffer(batch->commands, from.handle, to.handle, 1, &region);
  from.last_use = recorder_->value();
  to.last_use = from.last_use;
  return recorder_->done(*batch);
}

Status Device::record_fill(Buffer& buffer, std::uint64_t offset, std::uint64_t size,
                           std::uint32_t pattern) {
  Recorder::Lock lock(recorder_->mutex());
  GANTRY_TRY(Batch* const batch, recorder_->begin(lock));
  vkCmdFillBuffer(batch->commands, buffer.handle, buffer.base + offset, size, pattern);
  buffer.last_use = recorder_->value();
  return recorder_->done(*batch);
}

// The driver fills whole words at multiples of 4; bytes before and after them are copied.
Status Device::fill(Buffer& buffer, std::uint64_t offset, std::uint64_t size,
                    std::span<const std::uint8_t> pattern) {
  GANTRY_CHECK(check_range(buffer, "from", offset, size));
  constexpr std::uint64_t word = 4;
  std::array<std::uint8_t, 2 * word> repeated;
  for (std::size_t i = 0; i < repeated.size(); ++i) repeated[i] = pattern[i % pattern.size()];
  const std::uint64_t first = std::min((offset + word - 1) / word * word, offset + size);
  const std::uint64_t last = std::max((offset + size) / word * word, first);
  if (first != offset) GANTRY_CHECK(upload(repeated.data(), buffer, offset, first - offset));
  if (last != first) {
    std::uint32_t filled = 0;
    std::memcpy(&filled, repeated.data(), word);
    GANTRY_CHECK(record_fill(buffer, first, last - first, filled));
  }
  if (last == offset + size) return {};
  return upload(repeated.data(), buffer, last, offset + size - last);
}

Status Device::sync_mapped(const Buffer& buffer, bool host_wrote) const {
  if (buffer.is_coherent) return {};
  VkMappedMemoryRange range{VK_STRUCTURE_TYPE_MAPPED_MEMORY_RANGE};
  range.memory = buffer.memory.memory();
  range.offset = buffer.memory.offset();
  range.size = buffer.memory.size();
  return host_wrote
             ? checked(vkFlushMappedMemoryRanges(device_, 1, &range), "vkFlushMappedMemoryRanges")
             : checked(vkInvalidateMappedMemoryRanges(device_, 1, &range),
                       "vkInvalidateMappedMemoryRanges");
}

Result<Buffer*> Device::staging(std::unique_ptr<Buffer>& kept, BufferUse use) {
  if (!kept) {
    GANTRY_TRY(kept, memory_->make(staging_bytes, use));
  }
  return kept.get();
}

Status Device::upload(const std::uint8_t* from, Buffer& to, std::uint64_t offset,
                      std::uint64_t size) {
  if (to.mapped != nullptr) {
    Recorder::Lock lock(recorder_->mutex());
    GANTRY_CHECK(recorder_->wait(lock, to.last_use));
    lock.unlock();
    std::memcpy(to.mapped + offset, from, size);
    return sync_mapped(to, true);
  }
  const std::lock_guard staging_lock(staging_mutex_);
  for (std::uint64_t done = 0, part = 0; done < size; done += part) {
    GANTRY_TRY(Buffer* const buffer, staging(uploads_[upload_turn_], BufferUse::upload));
    // Small copies are placed one after another in the buffer; only offset 0 waits for earlier
    // copies.
    const std::uint64_t at = upload_used_;
    part = std::min(staging_bytes - at, size - done);
    Recorder::Lock lock(recorder_->mutex());
    if (at == 0) GANTRY_CHECK(recorder_->wait(lock, buffer->last_use));
    lock.unlock();
    std::memcpy(buffer->mapped + at, from + done, part);
    GANTRY_CHECK(sync_mapped(*buffer, true));
    lock.lock();
    GANTRY_CHECK(record_copy(lock, *buffer, at, to, offset + done, part));
    upload_used_ = at + part;
    if (upload_used_ < staging_bytes) continue;
    // The device copies from this buffer while the host fills the other.
    GANTRY_CHECK(recorder_->flush());
    upload_turn_ = 1 - upload_turn_;
    upload_used_ = 0;
  }
  return {};
}

Status Device::download(Buffer& from, std::uint64_t offset, std::uint8_t* to, std::uint64_t size) {
  if (from.mapped != nullptr && from.is_cached) {
    Recorder::Lock lock(recorder_->mutex());
    GANTRY_CHECK(recorder_->wait(lock, from.last_use));
    lock.unlock();
    GANTRY_CHECK(sync_mapped(from, false));
    std::memcpy(to, from.mapped + offset, size);
    return {};
  }
  const std::lock_guard staging_lock(staging_mutex_);
  const std::uint64_t parts = (size + staging_bytes - 1) / staging_bytes;
  // The device fills one buffer while the host empties the other.
  for (std::uint64_t i = 0; i <= parts; ++i) {
    Recorder::Lock lock(recorder_->mutex());
    if (i < parts) {
      GANTRY_TRY(Buffer* const buffer, staging(downloads_[i % 2], BufferUse::download));
      const std::uint64_t done = i * staging_bytes;
      GANTRY_CHECK(
          record_copy(lock, from, offset + done, *buffer, 0, std::min(staging_bytes, size - done)));
      GANTRY_CHECK(recorder_->flush());
    }
    if (i == 0) continue;
    Buffer& full = *downloads_[(i - 1) % 2];
    GANTRY_CHECK(recorder_->wait(lock, full.last_use));
    lock.unlock();
    GANTRY_CHECK(sync_mapped(full, false));
    const std::uint64_t done = (i - 1) * staging_bytes;
    std::memcpy(to + done, full.mapped, std::min(staging_bytes, size - done));
  }
  return {};
}

}  // namespace gantry::vulkan
