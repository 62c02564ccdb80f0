// SPDX-License-Identifier: Apache-2.0
//
// The sequences of a forward pass, and the blocks that their new tokens attend to at each depth.
#pragma once

#include "kv_sequences.hpp"
#include "kv_tables.hpp"

#include <array>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <vector>

namespace gantry::relax {

// Kept from pass to pass for its memory.
//
// thread   one at a time
class KvBatch {
 public:
  // sequences [in]  borrowed for the lifetime of this object
  explicit KvBatch(const KvSequences& sequences)
      : sequences_(sequences),
        members_(memory()),
        chains_(memory()),
        entries_{std::pmr::vector<Entry>(memory()), std::pmr::vector<Entry>(memory())} {}

  // A sequence of the batch.
  struct Member {
    std::int32_t tokens = 0;
    std::int32_t length_before = 0;
    std::int32_t block_length_before = 0;
    KvAppend append;
    // The blocks of its chain, first block first, in chains_.
    std::size_t chain_begin = 0;
    std::size_t chain_end = 0;
  };
  // Queries, and the blocks that they attend to, in chains_.
  struct Entry {
    std::int32_t tokens = 0;
    std::size_t chain_begin = 0;
    std::size_t chain_end = 0;
  };

  // Fills members().
  //
  // ids      [in]   sequences, each once
  // lengths  [in]   new tokens of each, at least 1
  // returns  NOT_FOUND  there is no such sequence
  //          EXHAUSTED  fewer pages are free than required
  Status collect(std::span<const std::int64_t> ids, std::span<const std::int64_t> lengths);
  // Fills the entries of all depths, and returns tables with everything that is not a KvTable.
  KvTables collect_depths();
  // Returns the maximum number of elements in all tables.
  std::size_t table_size(const KvTables& tables) const;

  std::span<const Member> members() const { return members_; }
  std::span<const Entry> entries(int depth) const {
    return entries_[static_cast<std::size_t>(depth)];
  }
  std::span<const std::int32_t> blocks_of(const Entry& entry) const {
    return std::span(chains_).subspan(entry.chain_begin, entry.chain_end - entry.chain_begin);
  }

 private:
  std::pmr::memory_resource* memory() const { return sequences_.blocks().memory(); }
  bool collect_entries(int depth, bool is_decode);

  const KvSequences& sequences_;
  std::pmr::vector<Member> members_;
  std::pmr::vector<std::int32_t> chains_;
  std::array<std::pmr::vector<Entry>, max_kv_depth> entries_;
};

}  // namespace gantry::relax
