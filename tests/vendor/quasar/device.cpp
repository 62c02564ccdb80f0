// SPDX-License-Identifier: Apache-2.0
#include "device.hpp"

#include "plugin.hpp"

#include <gantry/device_name.hpp>
#include <gantry/hardware_id.hpp>
#include <gantry/quoted.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <utility>

namespace quasar {
namespace {

// No process has anything here: reading through an address of a device ends in a fault.
constexpr std::uint64_t first_address = 0x7a00'0000'0000'0000;
constexpr int address_bits = 36;
// "QSR"
constexpr std::int64_t vendor_id = 0x515352;

std::uint64_t address_of(const void* data) { return reinterpret_cast<std::uintptr_t>(data); }

}  // namespace

std::int32_t Device::count(Plugin& plugin) { return plugin.device_count(); }

gantry::Result<Device*> Device::at(Plugin& plugin, std::int32_t index) {
  return plugin.device(index);
}

Device::Device(const Plugin& plugin, std::int32_t index, std::uint64_t memory_bytes)
    : plugin_(plugin),
      index_(index),
      base_(first_address + (static_cast<std::uint64_t>(index) << address_bits)),
      memory_(memory_bytes),
      processor_(loss),
      default_stream_(std::make_unique<Stream>(processor_.open(), "default queue")) {}

gantry::Attribute Device::attribute(std::int32_t kind) const {
  switch (kind) {
    case GANTRY_ATTRIBUTE_DEVICE_NAME:
      return "ACME Quasar, simulated";
    case GANTRY_ATTRIBUTE_COMPUTE_VERSION:
      return "1.0";
    case GANTRY_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      return 1;
    case GANTRY_ATTRIBUTE_WARP_SIZE:
      return vector_bytes / sizeof(float);
    case GANTRY_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      return 2;
    case GANTRY_ATTRIBUTE_TOTAL_GLOBAL_MEMORY:
      return memory_.capacity();
    case GANTRY_ATTRIBUTE_AVAILABLE_GLOBAL_MEMORY:
      return memory_.free_bytes();
    case GANTRY_ATTRIBUTE_ALLOCATED_BYTES: {
      const std::lock_guard lock(mutex_);
      return allocated_bytes_;
    }
    case GANTRY_ATTRIBUTE_ALIGNMENT:
    case GANTRY_ATTRIBUTE_PADDING:
      return vector_bytes;
    case GANTRY_ATTRIBUTE_MAX_ALLOCATION:
      return memory_.capacity() / 2;
    case GANTRY_ATTRIBUTE_UUID: {
      std::array<std::uint8_t, 16> bytes{0x51, 0x53, 0x52, 0x01};
      bytes.back() = static_cast<std::uint8_t>(index_);
      return gantry::uuid_text(bytes);
    }
    case GANTRY_ATTRIBUTE_VENDOR_ID:
      return vendor_id;
    case GANTRY_ATTRIBUTE_PRODUCT_ID:
      return 1;
    default:
      return {};
  }
}

// ---- memory

BlockPtr Device::take(std::uint64_t size, std::uint64_t alignment) {
  return size > memory_.capacity() / 2 ? nullptr : memory_.take(size, alignment);
}

// Work that is in the stream now precedes all that will use the memory.
BlockPtr Device::take_freed(const gantry_alloc& what) {
  Stream& stream = stream_of(static_cast<Stream*>(what.stream));
  const std::uint64_t need = round_up(std::max<std::uint64_t>(what.size, 1), granule);
  const std::lock_guard lock(stream.mutex);
  const auto fits = [&](const BlockPtr& block) {
    return block->reserved == need && (base_ + block->offset) % what.alignment == 0;
  };
  const auto found = std::ranges::find_if(stream.freed, fits);
  if (found == stream.freed.end()) return nullptr;
  BlockPtr block = std::move(*found);
  stream.freed.erase(found);
  return block;
}

gantry::Result<void*> Device::alloc(const gantry_alloc& what) {
  const std::string_view scope = gantry::view_of(what.scope);
  if (scope == GANTRY_SCOPE_HOST) return alloc_host(what);
  if (!scope.empty() && scope != GANTRY_SCOPE_GLOBAL) {
    return gantry::unsupported("quasar: memory scope is ", gantry::quoted(scope),
                               ", expected \"global\" or \"host\"")
        .with_reason("MEMORY_SCOPE");
  }
  BlockPtr block;
  if ((what.flags & GANTRY_ALLOC_IN_STREAM) != 0) block = take_freed(what);
  if (block == nullptr) block = take(what.size, what.alignment);
  if (block == nullptr) {
    return gantry::exhausted("quasar:", index_, ": ", what.size, " bytes are requested, ",
                             memory_.free_bytes(), " of ", memory_.capacity(),
                             " are free, limit of one allocation is ", memory_.capacity() / 2)
        .with_reason("DEVICE_MEMORY");
  }
  const std::uint64_t address = base_ + block->offset;
  const std::lock_guard lock(mutex_);
  allocations_.emplace(address, Allocation{std::move(block), what.size});
  allocated_bytes_ += what.size;
  return reinterpret_cast<void*>(address);
}

BlockPtr Device::remove(void* data) {
  const std::lock_guard lock(mutex_);
  const auto found = allocations_.find(address_of(data));
  if (found == allocations_.end()) return nullptr;
  BlockPtr block = std::move(found->second.block);
  allocated_bytes_ -= found->second.size;
  allocations_.erase(found);
  return block;
}

// Commands in flight hold the block.
void Device::free(void* data) {
  if (!free_host(data)) remove(data);
}

void Device::free_in_stream(void* data, Stream* given) {
  constexpr std::size_t max_freed = 16;
  if (free_host(data)) return;
  BlockPtr block = remove(data);
  if (block == nullptr) return;
  Stream& stream = stream_of(given);
  const std::lock_guard lock(stream.mutex);
  if (stream.freed.size() == max_freed) stream.freed.erase(stream.freed.begin());
  stream.freed.push_back(std::move(block));
}

void Device::trim() {
  {
    const std::lock_guard lock(mutex_);
    for (Stream* stream : streams_) {
      const std::lock_guard stream_lock(stream->mutex);
      stream->freed.clear();
    }
    const std::lock_guard stream_lock(default_stream_->mutex);
    default_stream_->freed.clear();
  }
  memory_.trim();
}

gantry::Result<void*> Device::alloc_host(const gantry_alloc& what) {
  const std::align_val_t alignment{std::max<std::uint64_t>(what.alignment, vector_bytes)};
  const std::uint64_t bytes = std::max<std::uint64_t>(what.size, 1);
  auto* const data = static_cast<std::byte*>(::operator new(bytes, alignment, std::nothrow));
  if (data == nullptr) {
    return gantry::exhausted("quasar: no host memory for ", what.size, " bytes")
        .with_reason("MEMORY");
  }
  std::shared_ptr<std::byte> block(
      data, [alignment](std::byte* freed) { ::operator delete(freed, alignment); });
  const std::lock_guard lock(mutex_);
  host_blocks_.emplace(address_of(data), HostBlock{std::move(block), bytes});
  return static_cast<void*>(data);
}

bool Device::free_host(void* data) {
  const std::lock_guard lock(mutex_);
  return host_blocks_.erase(address_of(data)) != 0;
}

gantry::Result<Device::Range> Device::find(const void* data, std::uint64_t byte_offset,
                                           std::uint64_t size) const {
  const std::uint64_t address = address_of(data) + byte_offset;
  const std::lock_guard lock(mutex_);
  auto found = allocations_.upper_bound(address);
  if (found != allocations_.begin()) {
    const auto& [begin, allocation] = *--found;
    const std::uint64_t at = address - begin;
    if (at <= allocation.size && size <= allocation.size - at)
      return Range{allocation.block->bytes() + at, allocation.block};
  }
  return gantry::invalid("quasar:", index_, ": ", size, " bytes at ", gantry::Hex{address},
                         " are in no allocation")
      .with_reason("DEVICE_DATA");
}

gantry::Result<BlockPtr> Device::load(std::span<const std::byte> code) {
  GANTRY_CHECK(loss.check());
  BlockPtr block = take(code.size(), 1);
  if (block == nullptr) {
    trim();
    block = take(code.size(), 1);
  }
  if (block == nullptr) {
    return gantry::exhausted("quasar:", index_, ": no memory for ", code.size(), " bytes of code")
        .with_reason("DEVICE_MEMORY");
  }
  std::ranges::copy(code, block->bytes());
  return block;
}

// ---- work

gantry::Result<Device::Range> Device::side_of(const gantry_location& location,
                                              std::uint64_t size) const {
  if (location.device.type == gantry::cpu_device_type) {
    Range range{static_cast<std::byte*>(location.data) + location.byte_offset, nullptr};
    const std::uint64_t address = address_of(range.bytes);
    // Memory of scope "host" may be freed while the copy is in a queue; the host keeps other memory.
    const std::lock_guard lock(mutex_);
    const auto after = host_blocks_.upper_bound(address);
    if (after == host_blocks_.begin()) return range;
    const auto& [begin, block] = *std::prev(after);
    if (address - begin < block.size) range.owner = block.data;
    return range;
  }
  if (location.device.type != plugin_.device_type()) {
    return gantry::unsupported("quasar: one side of the copy is on ",
                               gantry::device_text(location.device),
                               ", expected quasar or host memory");
  }
  GANTRY_TRY(const Device* const other, plugin_.device(location.device.index));
  return other->find(location.data, location.byte_offset, size);
}

gantry::Status Device::copy(const gantry_copy& what, Stream* stream) {
  Queue& queue = queue_of(stream);
  const bool is_blocking = (what.flags & GANTRY_COPY_BLOCKING) != 0;
  if (is_blocking) GANTRY_CHECK(queue.check_not_recorded("a blocking copy"));
  GANTRY_TRY(Range from, side_of(what.from, what.size));
  GANTRY_TRY(Range to, side_of(what.to, what.size));
  GANTRY_CHECK(queue.push(
      {[from = std::move(from), to = std::move(to), size = what.size]() -> gantry::Status {
        if (size != 0) std::memcpy(to.bytes, from.bytes, size);
        return {};
      }}));
  return is_blocking ? queue.wait() : gantry::Status();
}

gantry::Status Device::fill(const gantry::DeviceFill& what, Stream* stream) {
  GANTRY_TRY(Range range, find(what.data, what.byte_offset, what.size));
  // The pattern is valid during this call only.
  std::array<std::uint8_t, 4> pattern{};
  std::ranges::copy(what.pattern, pattern.begin());
  return queue_of(stream).push({[range = std::move(range), pattern, unit = what.pattern.size(),
                                 size = what.size]() -> gantry::Status {
    for (std::uint64_t at = 0; at < size; at += unit)
      std::memcpy(range.bytes + at, pattern.data(), unit);
    return {};
  }});
}

// ---- streams

Stream* Device::add_stream(std::shared_ptr<Queue> queue) {
  const std::lock_guard lock(mutex_);
  auto made = std::make_unique<Stream>(std::move(queue), gantry::concat("queue ", ++stream_count_));
  streams_.push_back(made.get());
  return made.release();
}

gantry::Result<Stream*> Device::stream_import(void* handle) {
  if (handle == nullptr) return gantry::invalid("quasar: handle of the queue is NULL");
  return add_stream(static_cast<Queue*>(handle)->shared_from_this());
}

void Device::stream_destroy(Stream* stream) {
  {
    const std::lock_guard lock(mutex_);
    std::erase(streams_, stream);
  }
  delete stream;
}

gantry::Status Device::stream_notify(Stream* stream, void (*notify)(void* argument),
                                     void* argument) {
  Queue& queue = queue_of(stream);
  GANTRY_CHECK(queue.check_not_recorded("a notification"));
  return queue.push({[notify, argument]() -> gantry::Status {
                       notify(argument);
                       return {};
                     },
                     true});
}

gantry::Result<void*> Device::native_get(std::int32_t kind, void* object) {
  switch (kind) {
    case GANTRY_NATIVE_CONTEXT:
      return static_cast<void*>(&processor_);
    case GANTRY_NATIVE_STREAM:
      return static_cast<void*>(&queue_of(static_cast<Stream*>(object)));
    case GANTRY_NATIVE_MEMORY:
      GANTRY_CHECK(find(object, 0, 0));
      return object;
    default:
      return gantry::no_native_handle(identity.name, kind);
  }
}

// ---- events

gantry::Status Device::event_record(Event* event, Stream* stream) {
  Queue& queue = queue_of(stream);
  GANTRY_CHECK(queue.check_not_recorded("an event"));
  const auto fence = std::make_shared<Fence>();
  GANTRY_CHECK(queue.push({[fence]() -> gantry::Status {
                             fence->signal();
                             return {};
                           },
                           true}));
  // A wait for the event finds only fences that are in a queue: no two queues wait for each other.
  event->set(fence);
  return {};
}

gantry::Status Device::event_wait(Event* event, Stream* stream) {
  Queue& queue = queue_of(stream);
  GANTRY_CHECK(queue.check_not_recorded("a wait for an event"));
  FencePtr fence = event->get();
  // Never recorded: there is nothing to wait for.
  if (fence == nullptr) return {};
  return queue.push({[fence = std::move(fence)]() -> gantry::Status {
    fence->wait();
    return {};
  }});
}

gantry::Result<bool> Device::event_reached(Event* event, std::int64_t timeout_ns) {
  const FencePtr fence = event->get();
  if (fence == nullptr) return gantry::invalid("quasar: the event is not recorded");
  return fence->wait_for(timeout_ns);
}

gantry::Result<std::int64_t> Device::event_elapsed(Event* start, Event* stop) {
  for (const auto& [event, name] : {std::pair(start, "start"), std::pair(stop, "stop")}) {
    if (!event->is_timed) return gantry::invalid("quasar: the ", name, " event has no time");
    if (event->get() == nullptr)
      return gantry::invalid("quasar: the ", name, " event is not recorded");
  }
  const auto begun = start->get()->wait();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(stop->get()->wait() - begun).count();
}

}  // namespace quasar
