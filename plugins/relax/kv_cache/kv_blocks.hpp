// SPDX-License-Identifier: Apache-2.0
//
// The pages of a KV cache, and the blocks that own them.
//
//     page    memory for page_size tokens in each layer
//     block   consecutive tokens of a sequence in pages of its own. Sequences that begin with the
//             same tokens share blocks: a block has a parent, and its chain of parents contains the
//             tokens before it. Only the last block of a chain may be partly filled or slide.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory_resource>
#include <vector>

namespace gantry::relax {

constexpr std::int32_t no_block = -1;

// Of pages. Its size is that of the cache, which numbers of a file decide.
using KvPageList = std::pmr::vector<std::int32_t>;

struct KvBlock {
  KvPageList pages;
  // Tokens in the block, and in the chain of its parents.
  std::int32_t length = 0;
  std::int32_t start = 0;
  // After the window has slid, the first `sink` tokens remain in the first slots and the others
  // begin at slot `window_at`; before, both are 0.
  std::int32_t sink = 0;
  std::int32_t window_at = 0;
  std::int32_t parent = no_block;
  // The blocks whose parent it is, and the sequence that ends with it.
  std::int32_t references = 0;

  // Slots up to the last token.
  std::int32_t slots() const { return length - sink + window_at; }
  // The number of a token's slot in the cache, page * page_size + index.
  std::int32_t position_of(std::int32_t token, std::int32_t page_size) const {
    const std::int32_t slot = token < sink ? token : token - sink + window_at;
    return pages[static_cast<std::size_t>(slot / page_size)] * page_size + slot % page_size;
  }
};

// A pool of blocks and a stack of free pages. A block is identified by its index in the pool.
//
// thread   one at a time
class KvBlocks {
 public:
  // memory   [in]   borrowed for the lifetime of this object
  explicit KvBlocks(std::int32_t page_count,
                    std::pmr::memory_resource* memory = std::pmr::get_default_resource())
      : memory_(memory),
        page_count_(page_count),
        blocks_(memory),
        free_blocks_(memory),
        free_pages_(memory) {}
  // Copies of vectors lose the capacity that free_page() and free_block() rely on.
  KvBlocks(const KvBlocks&) = delete;
  KvBlocks& operator=(const KvBlocks&) = delete;

  // Frees all blocks and pages.
  void clear() noexcept;

  KvBlock& operator[](std::int32_t block) { return blocks_[static_cast<std::size_t>(block)]; }
  const KvBlock& operator[](std::int32_t block) const {
    return blocks_[static_cast<std::size_t>(block)];
  }

  // Allocates memory, so that the next `count` calls of take_block() succeed.
  void reserve_blocks(std::size_t count);
  // Returns an empty block without a parent and with one reference.
  std::int32_t take_block() noexcept;
  // Frees the block if this was its only reference, then the same for its parent.
  void drop_reference(std::int32_t block) noexcept;

  // Frees a block and its pages. Its reference to its parent becomes the caller's.
  void free_block(std::int32_t block) noexcept;

  // Allocates memory, so that `count` pages can be taken, and all pages that are taken can be freed.
  // Precondition: so many pages are free.
  void reserve_pages(std::int32_t count);
  // The page freed last, then pages that were never taken: 0, 1, 2, ... of a new pool.
  std::int32_t take_page() noexcept;
  void free_page(std::int32_t page) noexcept { free_pages_.push_back(page); }
  std::int32_t free_page_count() const {
    return page_count_ - used_page_count_ + static_cast<std::int32_t>(free_pages_.size());
  }
  std::int32_t page_count() const { return page_count_; }

  // Of lists of pages: moves between them allocate nothing.
  std::pmr::memory_resource* memory() const { return memory_; }
  // Frees memory of a list that has become much shorter: many lists may have been long one after another.
  static void trim(KvPageList& pages) noexcept {
    constexpr std::size_t min_capacity = 64;
    if (pages.capacity() / 4 < std::max(pages.size(), min_capacity)) return;
    try {
      pages.shrink_to_fit();
    } catch (...) {
      // The list keeps its memory.
    }
  }

 private:
  std::pmr::memory_resource* memory_;
  std::int32_t page_count_;
  // Pages below it have been taken at least once.
  std::int32_t used_page_count_ = 0;
  std::pmr::vector<KvBlock> blocks_;
  // Each has the capacity for all of its elements, so that nothing is allocated when one is freed.
  std::pmr::vector<std::int32_t> free_blocks_;
  KvPageList free_pages_;
};

}  // namespace gantry::relax
