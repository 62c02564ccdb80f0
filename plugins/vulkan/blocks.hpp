// SPDX-License-Identifier: Apache-2.0
//
// Memory of the device by the block: drivers allow few allocations (maxMemoryAllocationCount, 4,096 of many), and each
// takes microseconds, so that a buffer is a part of one that is larger.
//
//     block of 4, 8, ... 64 MiB    | part | free | part | part |         free |
//     part larger than half of the largest block                an allocation of its own
//
// A block belongs to one memory type and is mapped whole when the host first wants to reach a part of it. An empty one is
// kept for what comes next, a second empty one of its type is given back.
#pragma once

#include <gantry/result.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <vulkan/vulkan.h>

namespace gantry::vulkan {

// Which bytes of a block are free. Parts begin and end at multiples of a granule, so that what is free can be used again by
// what is a little smaller or larger.
class FreeRanges {
 public:
  // size, granule   granule is a power of two, size a multiple of it
  FreeRanges(std::uint64_t size, std::uint64_t granule);

  // The smallest free range that has room. Both are rounded up to the granule.
  //
  // alignment  [in]   a power of two
  // returns    the offset; nullopt: no range has room
  // costs      O(log ranges) where the granule has the alignment
  std::optional<std::uint64_t> take(std::uint64_t size, std::uint64_t alignment);
  // What take() gave for this size; neighbours become one range again.
  void give_back(std::uint64_t offset, std::uint64_t size);

  bool all_free() const { return by_offset_.size() == 1 && by_offset_.begin()->second == size_; }
  std::uint64_t rounded(std::uint64_t size) const {
    return (size + granule_ - 1) / granule_ * granule_;
  }

 private:
  void add(std::uint64_t offset, std::uint64_t size);
  void remove(std::uint64_t offset, std::uint64_t size);

  std::uint64_t size_;
  std::uint64_t granule_;
  // offset to size
  std::map<std::uint64_t, std::uint64_t> by_offset_;
  // {size, offset}
  std::set<std::pair<std::uint64_t, std::uint64_t>> by_size_;
};

// Where blocks come from: the driver, or a test.
class BlockSource {
 public:
  virtual ~BlockSource() = default;
  // returns  EXHAUSTED  memory, or the number of allocations
  virtual Result<VkDeviceMemory> allocate(std::uint32_t type, std::uint64_t size) = 0;
  virtual Result<std::uint8_t*> map(VkDeviceMemory memory) = 0;
  // unmaps
  virtual void free(VkDeviceMemory memory) = 0;
};

class Blocks;
struct Block;

// A part of a block; its bytes are free again when it ends.
class Part {
 public:
  Part() = default;
  Part(Part&& other) noexcept { *this = std::move(other); }
  Part& operator=(Part&& other) noexcept {
    std::swap(owner_, other.owner_);
    std::swap(block_, other.block_);
    std::swap(offset_, other.offset_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~Part();

  VkDeviceMemory memory() const;
  // NULL where no part of the block was asked for mapped.
  std::uint8_t* mapped() const;
  std::uint64_t offset() const { return offset_; }
  // Up to the next part, or to the end of the allocation: what may be flushed.
  std::uint64_t size() const { return size_; }

 private:
  friend class Blocks;
  Blocks* owner_ = nullptr;
  Block* block_ = nullptr;
  std::uint64_t offset_ = 0;
  std::uint64_t size_ = 0;
};

struct PartRequest {
  std::uint32_t type = 0;
  std::uint64_t size = 0;
  // a power of two
  std::uint64_t alignment = 1;
  bool is_mapped = false;
};

class Blocks {
 public:
  struct Options {
    // bytes of a block, by memory type; powers of two
    std::vector<std::uint64_t> largest;
    // a power of two; nonCoherentAtomSize at least
    std::uint64_t granule = 256;
  };
  // source   borrowed
  Blocks(BlockSource& source, Options options);
  // of every part
  ~Blocks();
  Blocks(const Blocks&) = delete;
  Blocks& operator=(const Blocks&) = delete;

  // returns  EXHAUSTED, and what the source says; blocks that are empty have been given back then, and smaller ones tried
  // thread   any
  Result<Part> take(const PartRequest& what);

  // Allocations of the driver that are alive.
  std::size_t count() const;

 private:
  friend class Part;
  void give_back(const Part& part);

  // All below: the mutex is held.
  Result<Block*> new_block(std::uint32_t type, std::uint64_t size, bool is_alone);
  Result<Block*> block_for(const PartRequest& what);
  Result<Part> part_of(Block& block, std::uint64_t offset, const PartRequest& what);
  void give_empty_back();
  void drop(const Block* block);

  BlockSource& source_;
  Options options_;
  mutable std::mutex mutex_;
  // by type
  std::vector<std::vector<std::unique_ptr<Block>>> blocks_;
};

// Bytes of the largest block in a heap of this size: 64 MiB, or an eighth of a small heap.
std::uint64_t largest_block(std::uint64_t heap_bytes);

}  // namespace gantry::vulkan
