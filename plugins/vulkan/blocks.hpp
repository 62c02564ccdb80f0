// SPDX-License-Identifier: Apache-2.0
//
// Suballocation of device memory. Drivers allow few allocations (maxMemoryAllocationCount is often
// 4,096) and each takes microseconds, so most buffers are parts of larger blocks.
//
//     block of 4, 8, ... 64 MiB    | part | free | part | part |         free |
//     part larger than half of the largest block                an allocation of its own
//
// A block has one memory type. It is mapped as a whole when the first mapped part is taken. One
// empty block of each type is kept for later parts; further empty blocks are freed.
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

// The free ranges of a block. Parts begin and end at multiples of a granule, so that a freed range
// fits parts of slightly different size.
class FreeRanges {
 public:
  // granule  [in]   a power of two
  // size     [in]   a multiple of granule
  FreeRanges(std::uint64_t size, std::uint64_t granule);

  // Takes bytes from the smallest free range that is large enough.
  //
  // size       [in]   rounded up to the granule
  // alignment  [in]   a power of two
  // returns    the offset; nullopt: no range is large enough
  // costs      O(log ranges) if the alignment divides the granule
  std::optional<std::uint64_t> take(std::uint64_t size, std::uint64_t alignment);
  // Returns a range to the free ranges and merges it with its neighbours.
  //
  // offset   [in]   from take()
  // size     [in]   the size that was passed to take()
  void release(std::uint64_t offset, std::uint64_t size);

  bool all_free() const { return by_offset_.size() == 1 && by_offset_.begin()->second == size_; }
  std::uint64_t rounded(std::uint64_t size) const {
    return (size + granule_ - 1) / granule_ * granule_;
  }

 private:
  void add(std::uint64_t offset, std::uint64_t size);
  void remove(std::uint64_t offset, std::uint64_t size);

  std::uint64_t size_;
  std::uint64_t granule_;
  // Maps offsets to sizes.
  std::map<std::uint64_t, std::uint64_t> by_offset_;
  // Pairs of size and offset.
  std::set<std::pair<std::uint64_t, std::uint64_t>> by_size_;
};

// Allocates the memory of blocks; implemented by the driver's wrapper and by tests.
class BlockSource {
 public:
  virtual ~BlockSource() = default;
  // returns  EXHAUSTED  out of memory, or too many allocations
  virtual Result<VkDeviceMemory> allocate(std::uint32_t type, std::uint64_t size) = 0;
  virtual Result<std::uint8_t*> map(VkDeviceMemory memory) = 0;
  // Also unmaps the memory.
  virtual void free(VkDeviceMemory memory) = 0;
};

class Blocks;
struct Block;

// A part of a block; the destructor frees its bytes.
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
  // NULL: the block is not mapped.
  std::uint8_t* mapped() const;
  std::uint64_t offset() const { return offset_; }
  // Bytes to the next part or the end of the allocation: the range that may be flushed.
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
  // A power of two.
  std::uint64_t alignment = 1;
  bool is_mapped = false;
};

class Blocks {
 public:
  struct Options {
    // Maximum bytes of a block, indexed by memory type; powers of two.
    std::vector<std::uint64_t> largest;
    // A power of two, at least nonCoherentAtomSize.
    std::uint64_t granule = 256;
  };
  // source   [in]   borrowed
  Blocks(BlockSource& source, Options options);
  // Frees all blocks; no part may be left.
  ~Blocks();
  Blocks(const Blocks&) = delete;
  Blocks& operator=(const Blocks&) = delete;

  // Takes a part of a block, from a new block if no existing one has room.
  //
  // returns  EXHAUSTED  after empty blocks have been freed and smaller blocks tried
  //          others     errors of the source
  // thread   any
  Result<Part> take(const PartRequest& what);

  // Frees the blocks without parts.
  //
  // thread   any
  void trim();

  // Returns the number of live allocations.
  std::size_t count() const;

 private:
  friend class Part;
  void release(const Part& part);

  // The functions below require the mutex.
  Result<Block*> new_block(std::uint32_t type, std::uint64_t size, bool is_alone);
  Result<Block*> block_for(const PartRequest& what);
  Result<Part> part_of(Block& block, std::uint64_t offset, const PartRequest& what);
  void release_empty();
  void drop(const Block* block);

  BlockSource& source_;
  Options options_;
  mutable std::mutex mutex_;
  // Indexed by memory type.
  std::vector<std::vector<std::unique_ptr<Block>>> blocks_;
};

// Returns the maximum bytes of a block in a heap: 64 MiB, or an eighth of a small heap.
std::uint64_t largest_block(std::uint64_t heap_bytes);

}  // namespace gantry::vulkan
