// SPDX-License-Identifier: Apache-2.0
//
// Memory that executables plan ahead: a storage serves several tensors, one after another. Storages
// that are no longer used return to the pool of their executable.
#pragma once

#include <gantry/handle.hpp>
#include <gantry/result.hpp>
#include <gantry/storage_memory.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace gantry::relax {

// Blocks by device, stream, scope and size. A released block may still be in use by work in its
// stream, so it serves that stream only. Sizes are rounded up to storage_step, and a block is reused for
// the same rounded size only, as in TVM: programs that were planned for an upper bound depend on
// the rounded size.
//
// thread   any
// source   apache/tvm src/runtime/memory/pooled_allocator.h
class StoragePool : public StorageMemory::Pool, public std::enable_shared_from_this<StoragePool> {
 public:
  static constexpr std::uint64_t storage_step = 4096;

  static std::shared_ptr<StoragePool> create(Host host, std::shared_ptr<StorageMemory> memory);

  // Returns a storage object of at least `bytes` bytes. Its block returns to the pool when the last
  // reference to it is released.
  //
  // scope    [in]   memory scope of the device
  // stream   [in]   of the device, for the work that uses the storage; NULL: the default stream
  // returns  INVALID  larger than memory can be (STORAGE); as StorageMemory::allocate()
  Result<Value> take(gantry_device_id device, std::uint64_t bytes, std::string_view scope,
                     void* stream = nullptr);
  // Frees the blocks that no storage uses, on any thread.
  void free_unused() noexcept override;
  void free_unused_if_idle() noexcept override { free_unused(); }
  // That counts the blocks.
  const std::shared_ptr<StorageMemory>& memory() const { return memory_; }
  // Ends the pool: its blocks are freed, those in use with their storages.
  void close();

 private:
  friend struct Storage;
  using Key = std::tuple<std::int32_t, std::int32_t, std::string, std::uint64_t, void*>;

  StoragePool(Host host, std::shared_ptr<StorageMemory> memory)
      : host_(host), memory_(std::move(memory)) {}
  void return_block(const Key& key, StorageMemory::Block block) noexcept;

  const Host host_;
  const std::shared_ptr<StorageMemory> memory_;
  std::mutex mutex_;
  bool is_closed_ = false;
  std::map<Key, std::vector<StorageMemory::Block>> free_;
};

// Returns a tensor over a part of a storage.
//
// storage  [in]   from StoragePool::take(); kept alive by the tensor
// like     [in]   dtype and shape; other members are ignored
// offset   [in]   bytes
// returns  INVALID  not a storage; a tensor beyond its end
Result<Value> tensor_in(const Host& host, gantry_object* storage, std::uint64_t offset,
                        const gantry_tensor& like);

}  // namespace gantry::relax
