// SPDX-License-Identifier: Apache-2.0
//
// Counts the memory of storages on each device, for all executables of a runtime, and limits it.
#pragma once

#include <gantry/handle.hpp>
#include <gantry/result.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

namespace gantry::relax {

class StoragePool;

// thread   any
class StorageMemory : public std::enable_shared_from_this<StorageMemory> {
 public:
  // limit    [in]   bytes on each device; 0: none
  explicit StorageMemory(std::uint64_t limit = 0) : limit_(limit) {}

  // A block of memory, counted while it exists.
  class Block {
   public:
    Block() = default;
    Block(Block&& other) noexcept = default;
    Block& operator=(Block&& other) noexcept {
      std::swap(memory_, other.memory_);
      std::swap(tensor_, other.tensor_);
      std::swap(device_, other.device_);
      std::swap(bytes_, other.bytes_);
      return *this;
    }
    ~Block();

    // A tensor of bytes; NULL: none.
    gantry_tensor* tensor() const { return tensor_.tensor(); }

   private:
    friend class StorageMemory;
    std::shared_ptr<StorageMemory> memory_;
    Value tensor_;
    gantry_device_id device_{};
    std::uint64_t bytes_ = 0;
  };

  // Allocates a block. If the limit or the device refuses it, the blocks that no storage uses are
  // freed, and the allocation is repeated once.
  //
  // returns  EXHAUSTED  the limit is reached (MEMORY_LIMIT); codes of the device's alloc
  Result<Block> allocate(const Host& host, gantry_device_id device, std::uint64_t bytes,
                         std::string_view scope);

  // Adds a pool, whose free blocks may be freed.
  void add(std::weak_ptr<StoragePool> pool);
  // Bytes on a device, those in free blocks included.
  std::uint64_t bytes(gantry_device_id device) const;

 private:
  using Key = std::pair<std::int32_t, std::int32_t>;

  Result<Block> try_allocate(const Host& host, gantry_device_id device, std::uint64_t bytes,
                             std::string_view scope);
  Status count(gantry_device_id device, std::uint64_t bytes);
  void discount(gantry_device_id device, std::uint64_t bytes) noexcept;
  void free_unused();

  const std::uint64_t limit_;
  mutable std::mutex mutex_;
  std::map<Key, std::uint64_t> bytes_;
  std::vector<std::weak_ptr<StoragePool>> pools_;
};

}  // namespace gantry::relax
