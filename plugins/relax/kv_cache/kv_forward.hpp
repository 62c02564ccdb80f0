// SPDX-License-Identifier: Apache-2.0
//
// A forward pass: new tokens at the ends of several sequences, and the tables by which attention
// kernels find the tokens before them.
#pragma once

#include "kv_batch.hpp"
#include "kv_sequences.hpp"
#include "kv_tables.hpp"

#include <cstdint>
#include <functional>
#include <memory_resource>
#include <span>
#include <vector>

namespace gantry::relax {

// thread   one at a time
class KvForward {
 public:
  explicit KvForward(KvSequences& sequences)
      : sequences_(&sequences),
        buffer_(sequences.blocks().memory()),
        unaccepted_(sequences.blocks().memory()),
        batch_(sequences),
        sorted_ids_(sequences.blocks().memory()) {}

  // Appends tokens and computes the tables. A pass that fails changes nothing, tables included.
  //
  // ids      [in]   sequences, each once
  // lengths  [in]   new tokens of each, at least 1
  // parents  [in]   empty, or for each new token the index of its parent among the new tokens of
  //                 its sequence, -1 for the first: only chains
  // reserve_more [in] called with the maximum size of contents() before anything changes; its
  //                 failure is that of the pass
  // returns  INVALID      counts differ or exceed the configuration, a sequence occurs twice, a
  //                       length is less than 1, or a parent is no earlier token
  //          NOT_FOUND    there is no such sequence
  //          EXHAUSTED    fewer pages are free than required
  //          UNSUPPORTED  a tree that is no chain, or parents in a cache with sliding window
  // costs    O(pages of the batch + tokens). Memory is allocated only if a pass needs more than all
  //          passes before it, or a block's list of pages outgrows its memory, which then doubles.
  Status begin(std::span<const std::int64_t> ids, std::span<const std::int64_t> lengths,
               std::span<const std::int64_t> parents = {},
               const std::function<Status(std::size_t)>& reserve_more = {});
  // Ends the pass, which the caller does before it changes sequences in another way. The tables
  // remain until the next pass.
  void end() noexcept { active_ = false; }

  // Keeps the new tokens of a pass with `parents` up to a leaf and removes those after it
  // (commit_accepted_token_tree_nodes). Called before the sequences change in another way.
  //
  // ids      [in]   sequences of the last pass, each once
  // leaves   [in]   index of the last new token that is kept, -1: none
  // returns  INVALID    counts differ, a sequence occurs twice, is not of a pass with parents, has
  //                     been accepted already or has changed; or a leaf is out of range. After a
  //                     failure nothing has changed.
  //          NOT_FOUND  there is no such sequence
  Status accept(std::span<const std::int64_t> ids, std::span<const std::int64_t> leaves);

  // True between begin() and end(), when attention may be computed.
  bool active() const { return active_; }
  // Tables of the last pass; batch 0 before the first.
  const KvTables& tables() const { return tables_; }
  std::span<const std::int32_t> contents() const { return buffer_.contents(); }

 private:
  // A sequence whose new tokens are to be accepted.
  struct Chain {
    std::int64_t id = 0;
    std::int32_t tokens = 0;
  };

  Status check_counts(std::span<const std::int64_t> ids,
                      std::span<const std::int64_t> lengths) const;
  Status check_unique(std::span<const std::int64_t> ids);
  Status reserve(const KvTables& tables, const std::function<Status(std::size_t)>& reserve_more);
  void append() noexcept;
  void write_depth(int depth, KvDepth& tables) noexcept;
  void write_tokens(KvTables& tables) noexcept;

  KvSequences* sequences_;
  KvTableBuffer buffer_;
  KvTables tables_;
  bool active_ = false;
  std::pmr::vector<Chain> unaccepted_;
  // Of the pass that begins; kept for their memory.
  KvBatch batch_;
  std::pmr::vector<std::int64_t> sorted_ids_;
};

}  // namespace gantry::relax
