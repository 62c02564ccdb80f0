// SPDX-License-Identifier: Apache-2.0
//
// The tables of a forward pass, as attention kernels take them: int32 arrays in one buffer.
//
//     q_rope_position | qo_indptr, page_indptr, page_indices, length_info, k_rope_offset of each
//     depth | append_indptr | append_rope_offset | append_position
//
// Each array begins at a multiple of 16 bytes, q_rope_position at 0. Everything is kept for the
// next pass: memory is allocated only if a pass needs more than all before it.
#pragma once

#include <array>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <vector>

namespace gantry::relax {

// An array in the buffer.
struct KvTable {
  // Both count elements of 4 bytes.
  std::int32_t offset = 0;
  std::int32_t size = 0;
};

// Chains of blocks are attended to in two steps: their first blocks, which sequences often share,
// then all other blocks of each sequence together. A step without pages is left out by the caller.
constexpr int max_kv_depth = 2;

// One step: a kernel that reads tokens from pages. An entry is a block and the queries that attend
// to it, one sequence's or those of neighbours that share the block.
struct KvDepth {
  // True: the decode kernel, which takes one query for each entry; false: the prefill kernel.
  bool decode = false;
  std::int32_t entry_count = 0;
  // [entries + 1] rows of queries; of page_indices.
  KvTable qo_indptr;
  KvTable page_indptr;
  // Empty: the step has no pages.
  KvTable page_indices;
  // [entries] tokens in the last page; with sliding window [3, entries]: that, the slot at which
  // the window begins, and the tokens before the window.
  KvTable length_info;
  // [entries] position of the block's first token in its sequences.
  KvTable k_rope_offset;
};

struct KvTables {
  std::int32_t batch = 0;
  // New tokens of the batch.
  std::int32_t tokens = 0;
  // True: new tokens are written to the pages before attention, and `depths` contain them; false:
  // attention to the new tokens comes first (ragged prefill), and they are written afterwards.
  bool append_before = false;
  int depth_count = 0;
  std::array<KvDepth, max_kv_depth> depths;
  // [tokens] position of each new token in its sequence.
  KvTable q_rope_position;
  // [batch + 1] new tokens: rows of queries and of keys of the ragged prefill.
  KvTable append_indptr;
  // [batch] position of the first new token.
  KvTable append_rope_offset;
  // [tokens] page * page_size + slot; -1: the token is not written, because it is outside the
  // window already.
  KvTable append_position;
};

// A buffer of tables, aligned to 64 bytes, so that it can be passed to kernels in place.
class KvTableBuffer {
 public:
  // memory   [in]   borrowed for the lifetime of this object
  explicit KvTableBuffer(std::pmr::memory_resource* memory) : lines_(memory) {}

  // Allocates memory for `size` elements in all tables.
  void reserve(std::size_t size);
  void clear() noexcept { size_ = 0; }
  // Adds a table. Precondition: reserve() has allocated enough, 3 more elements for each table.
  KvTable add(std::size_t size) noexcept;

  std::span<std::int32_t> operator[](const KvTable& table) noexcept {
    return {words() + table.offset, static_cast<std::size_t>(table.size)};
  }
  // All tables.
  std::span<const std::int32_t> contents() const {
    return {lines_.empty() ? nullptr : lines_.front().words, size_};
  }

 private:
  struct alignas(64) Line {
    std::int32_t words[16];
  };
  std::int32_t* words() noexcept { return lines_.empty() ? nullptr : lines_.front().words; }

  std::pmr::vector<Line> lines_;
  std::size_t size_ = 0;
};

}  // namespace gantry::relax
