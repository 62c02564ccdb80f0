// SPDX-License-Identifier: Apache-2.0
#include "storage.hpp"

#include "builtin.hpp"

#include <gantry/byte_count.hpp>
#include <gantry/compact_tensor.hpp>
#include <gantry/demands.hpp>
#include <gantry/dtype_text.hpp>
#include <gantry/opaque.hpp>
#include <gantry/tensor_text.hpp>

#include <algorithm>
#include <utility>

namespace gantry::relax {

struct Storage {
  static constexpr const char* type_name = "vm.Storage";

  Storage(std::shared_ptr<StoragePool> owner, StoragePool::Key kind, const Demands& of_device)
      : pool(std::move(owner)), key(std::move(kind)), demands(of_device) {}
  ~Storage() { pool->return_block(key, std::move(block)); }
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  // Returns memory for a tensor that begins at an offset which the device does not allow: the same
  // one for all tensors of this size there.
  Result<gantry_tensor> apart(const Host& host, std::uint64_t offset, std::uint64_t bytes);

  const std::shared_ptr<StoragePool> pool;
  const StoragePool::Key key;
  const Demands demands;
  StorageMemory::Block block;

 private:
  std::mutex mutex_;
  // By offset and size.
  std::map<std::pair<std::uint64_t, std::uint64_t>, StorageMemory::Block> apart_;
};

Result<gantry_tensor> Storage::apart(const Host& host, std::uint64_t offset, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  StorageMemory::Block& found = apart_[{offset, bytes}];
  if (found.tensor() == nullptr) {
    const auto extent = static_cast<std::int64_t>(std::max<std::uint64_t>(bytes, 1));
    const gantry_device_id device = block.tensor()->device;
    const StorageMemory::Request request{compact_tensor(dtypes::uint8, {&extent, 1}, device),
                                         bytes};
    GANTRY_TRY(found, pool->memory()->allocate(host, request, std::get<std::string>(key)));
  }
  return *found.tensor();
}

std::shared_ptr<StoragePool> StoragePool::create(Host host, std::shared_ptr<StorageMemory> memory) {
  std::shared_ptr<StoragePool> pool(new StoragePool(host, memory));
  memory->add(pool);
  return pool;
}

void StoragePool::free_unused() noexcept {
  decltype(free_) unused;
  const std::lock_guard lock(mutex_);
  unused.swap(free_);
}

void StoragePool::close() {
  {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
  }
  free_unused();
}

Result<Value> StoragePool::take(gantry_device_id device, std::uint64_t bytes,
                                std::string_view scope, void* stream) {
  if (bytes > std::uint64_t{INT64_MAX} - storage_step) {
    return invalid("storage has ", ByteCount(bytes), ", limit is ",
                   ByteCount(std::uint64_t{INT64_MAX} - storage_step))
        .with_reason("STORAGE");
  }
  const std::uint64_t rounded = (bytes + storage_step - 1) / storage_step * storage_step;
  GANTRY_TRY(const Demands demands, memory_->demands_of(host_, device));
  auto storage = std::make_unique<Storage>(
      shared_from_this(), Key{device.type, device.index, std::string(scope), rounded, stream},
      demands);
  {
    const std::lock_guard lock(mutex_);
    const auto found = free_.find(storage->key);
    if (found != free_.end() && !found->second.empty()) {
      storage->block = std::move(found->second.back());
      found->second.pop_back();
    }
  }
  if (storage->block.tensor() == nullptr) {
    const std::int64_t shape[] = {static_cast<std::int64_t>(rounded)};
    const StorageMemory::Request request{compact_tensor(dtypes::uint8, shape, device), rounded};
    GANTRY_TRY(storage->block, memory_->allocate(host_, request, scope, *this));
  }
  return new_opaque(host_, std::move(storage));
}

// Without memory for the list, the block is freed.
void StoragePool::return_block(const Key& key, StorageMemory::Block block) noexcept {
  if (block.tensor() == nullptr) return;
  try {
    const std::lock_guard lock(mutex_);
    if (!is_closed_) free_[key].push_back(std::move(block));
  } catch (...) {
  }
}

Result<Value> tensor_in(const Host& host, gantry_object* storage, std::uint64_t offset,
                        const gantry_tensor& like) {
  GANTRY_TRY(Storage* const self, opaque_of<Storage>(host, storage));
  const gantry_tensor& block = *self->block.tensor();
  const auto room = static_cast<std::uint64_t>(block.shape[0]);
  GANTRY_TRY(const std::uint64_t bytes, tensor_bytes(shape_of(like), like.dtype));
  if (offset > room || bytes > room - offset) {
    return raise(host, "InternalError", "storage allocation failure, attempted to allocate ", bytes,
                 " at offset ", offset, " in region that is ", room, "bytes");
  }
  gantry_tensor tensor = like;
  tensor.data = block.data;
  tensor.device = block.device;
  tensor.strides = nullptr;
  tensor.byte_offset = block.byte_offset;
  if (offset != 0) {
    if (!self->demands.allow_offset(offset)) {
      GANTRY_TRY(const gantry_tensor own, self->apart(host, offset, bytes));
      tensor.data = own.data;
      tensor.byte_offset = own.byte_offset;
      return host.tensor_view(tensor, storage);
    }
    // Compiled code accepts an offset only where it declares one.
    GANTRY_TRY(const gantry_device device, host.device(block.device));
    if ((device.table->flags & GANTRY_DEVICE_OPAQUE_DATA) != 0) {
      tensor.byte_offset += offset;
    } else {
      tensor.data = static_cast<char*>(tensor.data) + offset;
    }
  }
  return host.tensor_view(tensor, storage);
}

}  // namespace gantry::relax
