// SPDX-License-Identifier: Apache-2.0
//
// Copies. The host copies mapped memory itself, after the device's work with the buffer has
// finished. Other copies alternate between two staging buffers, so that host and device work in
// parallel.
#include "device.hpp"

#include <gantry/byte_count.hpp>
#include <gantry/device_name.hpp>

#include <algorithm>
#include <cstring>

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
  if (from == nullptr) return upload(host_address(what.from), *to, what.to.byte_offset, what.size);
  if (to == nullptr)
    return download(*from, what.from.byte_offset, host_address(what.to), what.size);
  Recorder::Lock lock(recorder_->mutex());
  return record_copy(lock, *from, what.from.byte_offset, *to, what.to.byte_offset, what.size);
}

Status Device::record_copy(Recorder::Lock& lock, Buffer& from, std::uint64_t from_offset,
                           Buffer& to, std::uint64_t to_offset, std::uint64_t size) {
  GANTRY_TRY(Batch* const batch, recorder_->begin(lock));
  const VkBufferCopy region{from_offset, to_offset, size};
  vkCmdCopyBuffer(batch->commands, from.handle, to.handle, 1, &region);
  from.last_use = recorder_->value();
  to.last_use = from.last_use;
  return recorder_->done(*batch);
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
