// SPDX-License-Identifier: Apache-2.0
#include "memory.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace abacus {

Buffer::Buffer(std::uint64_t size, std::shared_ptr<std::atomic<std::uint64_t>> alive)
    : size_(size), own_(new std::byte[size]), data_(own_.get()), alive_(std::move(alive)) {}

Buffer::~Buffer() {
  if (alive_ != nullptr) *alive_ -= size_;
}

Memory::Memory(std::int32_t device, std::uint64_t capacity)
    : device_(device),
      capacity_(capacity),
      alive_(std::make_shared<std::atomic<std::uint64_t>>(0)) {}

gantry::Result<void*> Memory::alloc(std::uint64_t size) {
  // Counted before it is allocated, so that two threads do not both get the last of it.
  std::uint64_t before = alive_->load();
  do {
    if (size > capacity_ - before) {
      return gantry::exhausted("abacus:", device_, ": ", size, " bytes are requested, ",
                               capacity_ - before, " of ", capacity_, " are free")
          .with_reason("DEVICE_MEMORY");
    }
  } while (!alive_->compare_exchange_weak(before, before + size));
  std::shared_ptr<Buffer> buffer;
  try {
    buffer = std::make_shared<Buffer>(size, alive_);
  } catch (const std::bad_alloc&) {
    *alive_ -= size;
    throw;
  }
  return add(std::move(buffer));
}

void* Memory::import(std::byte* data, std::uint64_t size) {
  return add(std::make_shared<Buffer>(data, size));
}

void* Memory::add(std::shared_ptr<Buffer> buffer) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t number =
      std::uint64_t{0xabac} << 48 | static_cast<std::uint64_t>(device_ & 0xff) << 40 | ++last_;
  auto* const handle = reinterpret_cast<void*>(number);
  buffers_.emplace(handle, std::move(buffer));
  return handle;
}

void Memory::free(void* handle) {
  // Destroyed after the lock is released.
  std::shared_ptr<Buffer> last;
  const std::lock_guard lock(mutex_);
  const auto found = buffers_.find(handle);
  if (found == buffers_.end()) return;
  last = std::move(found->second);
  buffers_.erase(found);
}

gantry::Result<std::shared_ptr<Buffer>> Memory::find(void* handle, std::uint64_t offset,
                                                     std::uint64_t size) const {
  const std::lock_guard lock(mutex_);
  const auto found = buffers_.find(handle);
  if (found == buffers_.end()) {
    return gantry::invalid("abacus:", device_, ": ",
                           gantry::Hex{reinterpret_cast<std::uintptr_t>(handle)},
                           " is not memory of this device")
        .with_reason("DEVICE_DATA");
  }
  const std::uint64_t room = found->second->size();
  if (offset > room || size > room - offset) {
    return gantry::invalid("abacus:", device_, ": ", size, " bytes from ", offset,
                           " are not in memory of ", room)
        .with_reason("ARGUMENT_RANGE");
  }
  return found->second;
}

gantry::Result<void*> HostMemory::alloc(std::uint64_t size, std::uint64_t alignment) {
  const std::align_val_t aligned{std::max<std::uint64_t>(alignment, 64)};
  const std::uint64_t bytes = std::max<std::uint64_t>(size, 1);
  auto* const data = static_cast<std::byte*>(::operator new(bytes, aligned, std::nothrow));
  if (data == nullptr) {
    return gantry::exhausted("abacus: no host memory for ", size, " bytes")
        .with_reason("DEVICE_MEMORY");
  }
  std::shared_ptr<std::byte> block(
      data, [aligned](std::byte* block_data) { ::operator delete(block_data, aligned); });
  const std::lock_guard lock(mutex_);
  blocks_.emplace(reinterpret_cast<std::uintptr_t>(data), Block{std::move(block), bytes});
  return static_cast<void*>(data);
}

bool HostMemory::free(void* data) {
  const std::lock_guard lock(mutex_);
  return blocks_.erase(reinterpret_cast<std::uintptr_t>(data)) != 0;
}

std::shared_ptr<std::byte> HostMemory::find(const void* address) const {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  const std::lock_guard lock(mutex_);
  auto found = blocks_.upper_bound(at);
  if (found == blocks_.begin()) return nullptr;
  --found;
  return at - found->first < found->second.size ? found->second.data : nullptr;
}

}  // namespace abacus
