// SPDX-License-Identifier: Apache-2.0
#include "blocks.hpp"

#include <algorithm>
#include <bit>

namespace gantry::vulkan {
namespace {

constexpr std::uint64_t first_block_bytes = 4 << 20;
constexpr std::uint64_t max_block_bytes = 64 << 20;

}  // namespace

std::uint64_t largest_block(std::uint64_t heap_bytes) {
  return std::bit_floor(std::clamp<std::uint64_t>(heap_bytes / 8, 64 << 10, max_block_bytes));
}

FreeRanges::FreeRanges(std::uint64_t size, std::uint64_t granule) : size_(size), granule_(granule) {
  add(0, size);
}

void FreeRanges::add(std::uint64_t offset, std::uint64_t size) {
  if (size == 0) return;
  by_offset_.emplace(offset, size);
  by_size_.emplace(size, offset);
}

void FreeRanges::remove(std::uint64_t offset, std::uint64_t size) {
  by_offset_.erase(offset);
  by_size_.erase({size, offset});
}

std::optional<std::uint64_t> FreeRanges::take(std::uint64_t size, std::uint64_t alignment) {
  if (size > size_) return std::nullopt;
  const std::uint64_t wanted = std::max(rounded(size), granule_);
  for (auto at = by_size_.lower_bound({wanted, 0}); at != by_size_.end(); ++at) {
    const auto [range_size, range] = *at;
    const std::uint64_t skipped = (alignment - range % alignment) % alignment;
    if (skipped > range_size - wanted) continue;
    remove(range, range_size);
    add(range, skipped);
    add(range + skipped + wanted, range_size - skipped - wanted);
    return range + skipped;
  }
  return std::nullopt;
}

void FreeRanges::release(std::uint64_t offset, std::uint64_t size) {
  std::uint64_t begin = offset;
  std::uint64_t end = offset + std::max(rounded(size), granule_);
  const auto after = by_offset_.lower_bound(offset);
  if (after != by_offset_.begin()) {
    const auto [before, before_size] = *std::prev(after);
    if (before + before_size == begin) {
      remove(before, before_size);
      begin = before;
    }
  }
  if (const auto next = by_offset_.find(end); next != by_offset_.end()) {
    const std::uint64_t next_size = next->second;
    remove(end, next_size);
    end += next_size;
  }
  add(begin, end - begin);
}

struct Block {
  Block(VkDeviceMemory of, std::uint32_t type_index, std::uint64_t bytes, std::uint64_t granule,
        bool alone)
      : memory(of), type(type_index), size(bytes), is_alone(alone), free(bytes, granule) {}

  VkDeviceMemory memory;
  std::uint32_t type;
  std::uint64_t size;
  // The allocation of a single large part.
  bool is_alone;
  FreeRanges free;
  std::uint8_t* mapped = nullptr;
};

Part::~Part() {
  if (owner_ != nullptr) owner_->release(*this);
}

VkDeviceMemory Part::memory() const { return block_ == nullptr ? VK_NULL_HANDLE : block_->memory; }

std::uint8_t* Part::mapped() const {
  return block_ == nullptr || block_->mapped == nullptr ? nullptr : block_->mapped + offset_;
}

Blocks::Blocks(BlockSource& source, Options options)
    : source_(source), options_(std::move(options)), blocks_(options_.largest.size()) {}

Blocks::~Blocks() {
  for (const auto& of_type : blocks_) {
    for (const auto& block : of_type) source_.free(block->memory);
  }
}

std::size_t Blocks::count() const {
  const std::lock_guard lock(mutex_);
  std::size_t count = 0;
  for (const auto& of_type : blocks_) count += of_type.size();
  return count;
}

void Blocks::trim() {
  const std::lock_guard lock(mutex_);
  release_empty();
}

Result<Part> Blocks::take(const PartRequest& what) {
  const std::lock_guard lock(mutex_);
  const bool is_alone = what.size > options_.largest[what.type] / 2;
  if (!is_alone) {
    for (const auto& block : blocks_[what.type]) {
      if (block->is_alone) continue;
      if (const auto offset = block->free.take(what.size, what.alignment))
        return part_of(*block, *offset, what);
    }
  }
  GANTRY_TRY(Block* const block,
             is_alone ? new_block(what.type, what.size, true) : block_for(what));
  // Offset 0 of an allocation has every alignment.
  return part_of(*block, is_alone ? 0 : *block->free.take(what.size, what.alignment), what);
}

Result<Part> Blocks::part_of(Block& block, std::uint64_t offset, const PartRequest& what) {
  Part part;
  part.block_ = &block;
  part.offset_ = offset;
  part.size_ =
      block.is_alone ? block.size : block.free.rounded(std::max<std::uint64_t>(what.size, 1));
  if (what.is_mapped && block.mapped == nullptr) {
    Result<std::uint8_t*> mapped = source_.map(block.memory);
    if (!mapped.ok()) {
      if (!block.is_alone) block.free.release(offset, what.size);
      if (block.is_alone || block.free.all_free()) drop(&block);
      return std::move(mapped).failure();
    }
    block.mapped = *mapped;
  }
  // Set last: the destructor of a part with an owner locks the mutex, which is held here.
  part.owner_ = this;
  return part;
}

// Returns a new block, twice as large as the largest one of its type: small models use little
// memory, and large models few allocations. If memory is short, smaller sizes are tried.
Result<Block*> Blocks::block_for(const PartRequest& what) {
  const std::uint64_t largest = options_.largest[what.type];
  std::uint64_t size = std::min(first_block_bytes, largest);
  for (const auto& block : blocks_[what.type]) {
    if (!block->is_alone) size = std::max(size, std::min(2 * block->size, largest));
  }
  const std::uint64_t min = std::bit_ceil(std::max(what.size, options_.granule));
  size = std::max(size, min);
  Result<Block*> made = new_block(what.type, size, false);
  while (!made.ok() && made.error().code == Code::exhausted && size / 2 >= min) {
    size /= 2;
    made = new_block(what.type, size, false);
  }
  return made;
}

Result<Block*> Blocks::new_block(std::uint32_t type, std::uint64_t size, bool is_alone) {
  Result<VkDeviceMemory> memory = source_.allocate(type, size);
  if (!memory.ok() && memory.error().code == Code::exhausted) {
    release_empty();
    memory = source_.allocate(type, size);
  }
  if (!memory.ok()) return std::move(memory).failure();
  blocks_[type].push_back(
      std::make_unique<Block>(*memory, type, size, is_alone ? size : options_.granule, is_alone));
  return blocks_[type].back().get();
}

void Blocks::release(const Part& part) {
  const std::lock_guard lock(mutex_);
  Block& block = *part.block_;
  if (block.is_alone) return drop(&block);
  block.free.release(part.offset_, part.size_);
  if (!block.free.all_free()) return;
  const auto is_empty = [&](const auto& other) {
    return other.get() != &block && !other->is_alone && other->free.all_free();
  };
  if (std::ranges::any_of(blocks_[block.type], is_empty)) drop(&block);
}

void Blocks::release_empty() {
  for (auto& of_type : blocks_) {
    std::erase_if(of_type, [&](const auto& block) {
      if (block->is_alone || !block->free.all_free()) return false;
      source_.free(block->memory);
      return true;
    });
  }
}

void Blocks::drop(const Block* block) {
  auto& of_type = blocks_[block->type];
  const auto at = std::ranges::find(of_type, block, &std::unique_ptr<Block>::get);
  source_.free(block->memory);
  of_type.erase(at);
}

}  // namespace gantry::vulkan
