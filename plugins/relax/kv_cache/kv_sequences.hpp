// SPDX-License-Identifier: Apache-2.0
//
// The sequences of a KV cache. A sequence is a chain of blocks; forks share whole pages of it.
//
//     sequence 0, 23 tokens                     [16 tokens] <- [7 tokens]
//     sequence 3, forked at the end of it            ^-------- [7 tokens, copied]
#pragma once

#include "kv_blocks.hpp"
#include "kv_config.hpp"

#include <map>
#include <memory_resource>
#include <optional>

namespace gantry::relax {

// The first `tokens` tokens of a page, which the caller copies in each layer (copy_single_page)
// before the next function that changes the cache.
struct KvPageCopy {
  std::int32_t source = 0;
  std::int32_t target = 0;
  std::int32_t tokens = 0;
  friend bool operator==(const KvPageCopy&, const KvPageCopy&) = default;
};

struct KvSequence {
  // No other sequence contains it.
  std::int32_t last_block = no_block;
  // Maximum number of tokens, of which the first `sink` are never removed; 0: does not slide.
  std::int32_t window = 0;
  std::int32_t sink = 0;
};

// What an append of tokens changes in the last block of a sequence. 64 bits, because a plan may
// exceed the cache.
struct KvAppend {
  std::int32_t block = no_block;
  // The block's values after the append.
  std::int64_t length = 0;
  std::int64_t sink = 0;
  std::int64_t window_at = 0;
  // Pages [drop_at, drop_at + drop_count) are freed, then pages are added up to page_count.
  std::int64_t drop_at = 0;
  std::int64_t drop_count = 0;
  std::int64_t page_count = 0;
};

// A function that fails changes nothing, also if it throws std::bad_alloc. Failures:
//
//     NOT_FOUND  there is no such sequence
//     INVALID    there is such a sequence already; a number is out of range
//     EXHAUSTED  no page is free
//
// throws   what the memory throws
// thread   one at a time
class KvSequences {
 public:
  // memory   [in]   borrowed for the lifetime of this object
  explicit KvSequences(const KvConfig& config,
                       std::pmr::memory_resource* memory = std::pmr::get_default_resource())
      : config_(config), blocks_(config.page_count, memory), sequences_(memory) {}

  Status add(std::int64_t id);
  Status remove(std::int64_t id);
  void clear() noexcept;

  // Creates a sequence of the first `position` tokens of another one. It has no sliding window.
  //
  // position [in]   0..length(parent), or -1 for the end; a sliding window limits it to the tokens
  //                 that cannot be removed
  // returns  the copy of a partly filled page, if the position is not at the start of a page
  // costs    O(blocks and pages of the parent)
  Result<std::optional<KvPageCopy>> fork(std::int64_t parent, std::int64_t child,
                                         std::int64_t position);

  // Removes the last `count` tokens.
  //
  // returns  as fork(), if the sequence then ends inside a page that other sequences contain
  // costs    O(blocks and pages of the sequence)
  Result<std::optional<KvPageCopy>> pop(std::int64_t id, std::int64_t count);

  // Limits a sequence to `window` tokens, of which the first `sink` are never removed. Shared
  // tokens are never removed either.
  Status enable_window(std::int64_t id, std::int64_t window, std::int64_t sink);

  bool empty() const { return sequences_.empty(); }
  std::int32_t free_page_count() const { return blocks_.free_page_count(); }
  Result<std::int32_t> length(std::int64_t id) const;
  // costs    O(sequences)
  std::int64_t total_length() const;

  // Writes the numbers of the slots of tokens [begin, end), page * page_size + index.
  //
  // slots    [out]  end - begin numbers
  // returns  INVALID  not 0 <= begin <= end <= length, or `slots` has another size
  // costs    O(blocks of the sequence + tokens)
  Status slots(std::int64_t id, std::int64_t begin, std::int64_t end,
               std::span<std::int32_t> slots) const;

  // For forward passes, which append to several sequences or to none.
  //
  // plan_append()    tokens >= 1; costs O(1)
  // new_pages()      pages that append() takes
  // reserve_pages()  allocates memory for the list of pages, so that append() does not
  // reserve_new_pages() allocates memory for new pages of all appends
  // append()         precondition: enough pages are free; costs O(pages of the block)
  Result<const KvSequence*> find(std::int64_t id) const;
  KvAppend plan_append(const KvSequence& sequence, std::int32_t tokens) const;
  std::int64_t new_pages(const KvAppend& append) const {
    return append.page_count + append.drop_count -
           static_cast<std::int64_t>(blocks_[append.block].pages.size());
  }
  void reserve_pages(const KvAppend& append);
  void reserve_new_pages(std::int64_t count) {
    blocks_.reserve_pages(static_cast<std::int32_t>(count));
  }
  void append(const KvAppend& append) noexcept;

  const KvConfig& config() const { return config_; }
  const KvBlocks& blocks() const { return blocks_; }

 private:
  // A new block that continues a chain from a position inside it.
  struct Branch {
    // The block of the chain that contains the position.
    std::int32_t from = no_block;
    // Tokens of the page at the position, which is copied.
    std::int32_t copied = 0;
    // Whole pages of `from` before the position, which move to a block that both continue.
    KvPageList shared_pages;
    KvPageList own_pages;
  };

  Result<KvSequence*> find_mutable(std::int64_t id);
  Status check_new(std::int64_t id) const;
  std::int32_t length_of(const KvSequence& sequence) const;
  // Fills a branch, whose lists have the memory of blocks.
  void plan_branch(std::int32_t last_block, std::int32_t position, Branch& branch);
  Branch empty_branch() const {
    return {.shared_pages = KvPageList(blocks_.memory()),
            .own_pages = KvPageList(blocks_.memory())};
  }
  std::int32_t add_branch(Branch&& branch, std::optional<KvPageCopy>& copy) noexcept;
  void shorten(KvBlock& block, std::int32_t length) noexcept;

  KvConfig config_;
  KvBlocks blocks_;
  // Ordered: the caller's numbers could collide in a hash table.
  std::pmr::map<std::int64_t, KvSequence> sequences_;
};

}  // namespace gantry::relax
