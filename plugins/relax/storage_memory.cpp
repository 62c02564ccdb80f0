// SPDX-License-Identifier: Apache-2.0
#include "storage_memory.hpp"

#include "storage.hpp"

#include <gantry/byte_count.hpp>
#include <gantry/compact_tensor.hpp>
#include <gantry/device_name.hpp>
#include <gantry/dtype_text.hpp>

namespace gantry::relax {

StorageMemory::Block::~Block() {
  if (memory_ == nullptr) return;
  tensor_ = Value();
  memory_->discount(device_, bytes_);
}

void StorageMemory::add(std::weak_ptr<StoragePool> pool) {
  const std::lock_guard lock(mutex_);
  std::erase_if(pools_, [](const auto& other) { return other.expired(); });
  pools_.push_back(std::move(pool));
}

std::uint64_t StorageMemory::bytes(gantry_device_id device) const {
  const std::lock_guard lock(mutex_);
  const auto found = bytes_.find({device.type, device.index});
  return found != bytes_.end() ? found->second : 0;
}

Status StorageMemory::count(gantry_device_id device, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  std::uint64_t& held = bytes_[{device.type, device.index}];
  if (limit_ != 0 && (held > limit_ || bytes > limit_ - held)) {
    return exhausted("storage of ", ByteCount(bytes), " on ", device_text(device),
                     ", where executables hold ", ByteCount(held), " and the limit is ",
                     ByteCount(limit_),
                     ": release results and virtual machines, or raise option memory_limit_mib of "
                     "gantry.relax")
        .with_reason("MEMORY_LIMIT");
  }
  held += bytes;
  return {};
}

void StorageMemory::discount(gantry_device_id device, std::uint64_t bytes) noexcept {
  const std::lock_guard lock(mutex_);
  bytes_.find({device.type, device.index})->second -= bytes;
}

void StorageMemory::free_unused() {
  std::vector<std::shared_ptr<StoragePool>> pools;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& pool : pools_) {
      if (auto held = pool.lock()) pools.push_back(std::move(held));
    }
  }
  for (const auto& pool : pools) pool->free_unused();
}

Result<StorageMemory::Block> StorageMemory::try_allocate(const Host& host, gantry_device_id device,
                                                         std::uint64_t bytes,
                                                         std::string_view scope) {
  GANTRY_CHECK(count(device, bytes));
  Block block;
  block.memory_ = shared_from_this();
  block.device_ = device;
  block.bytes_ = bytes;
  const std::int64_t shape[] = {static_cast<std::int64_t>(bytes)};
  GANTRY_TRY(block.tensor_, host.tensor_new(compact_tensor(dtypes::uint8, shape, device), scope));
  return block;
}

Result<StorageMemory::Block> StorageMemory::allocate(const Host& host, gantry_device_id device,
                                                     std::uint64_t bytes, std::string_view scope) {
  Result<Block> block = try_allocate(host, device, bytes, scope);
  if (block.ok() || block.error().code != Code::exhausted) return block;
  free_unused();
  return try_allocate(host, device, bytes, scope);
}

}  // namespace gantry::relax
