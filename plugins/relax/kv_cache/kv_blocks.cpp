// SPDX-License-Identifier: Apache-2.0
#include "kv_blocks.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace gantry::relax {

void KvBlocks::clear() noexcept {
  blocks_.clear();
  free_blocks_.clear();
  free_pages_.clear();
  used_page_count_ = 0;
}

void KvBlocks::reserve_pages(std::int32_t count) {
  const std::int32_t more = std::max(count - static_cast<std::int32_t>(free_pages_.size()), 0);
  const auto needed = static_cast<std::size_t>(used_page_count_ + more);
  if (needed <= free_pages_.capacity()) return;
  free_pages_.reserve(std::min(std::max(needed, 2 * free_pages_.capacity()),
                               static_cast<std::size_t>(page_count_)));
}

void KvBlocks::reserve_blocks(std::size_t count) {
  if (count <= free_blocks_.size()) return;
  const std::size_t needed = blocks_.size() + (count - free_blocks_.size());
  if (needed <= free_blocks_.capacity()) return;
  const std::size_t capacity = std::max(needed, 2 * blocks_.size());
  blocks_.reserve(capacity);
  free_blocks_.reserve(capacity);
}

std::int32_t KvBlocks::take_block() noexcept {
  std::int32_t block;
  if (free_blocks_.empty()) {
    assert(blocks_.size() < free_blocks_.capacity());
    block = static_cast<std::int32_t>(blocks_.size());
    blocks_.push_back({.pages = KvPageList(memory_)});
  } else {
    block = free_blocks_.back();
    free_blocks_.pop_back();
    // Keeps the memory of its list of pages.
    KvPageList pages = std::move((*this)[block].pages);
    (*this)[block] = {.pages = KvPageList(memory_)};
    (*this)[block].pages = std::move(pages);
  }
  (*this)[block].references = 1;
  return block;
}

void KvBlocks::free_block(std::int32_t block) noexcept {
  KvBlock& freed = (*this)[block];
  for (const std::int32_t page : freed.pages) free_page(page);
  freed.pages.clear();
  trim(freed.pages);
  freed.references = 0;
  free_blocks_.push_back(block);
}

void KvBlocks::drop_reference(std::int32_t block) noexcept {
  while (block != no_block && (*this)[block].references == 1) {
    free_block(block);
    block = (*this)[block].parent;
  }
  if (block != no_block) --(*this)[block].references;
}

std::int32_t KvBlocks::take_page() noexcept {
  assert(free_page_count() > 0);
  if (free_pages_.empty()) return used_page_count_++;
  const std::int32_t page = free_pages_.back();
  free_pages_.pop_back();
  return page;
}

}  // namespace gantry::relax
