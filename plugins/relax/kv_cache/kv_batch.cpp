// SPDX-License-Identifier: Apache-2.0
#include "kv_batch.hpp"

#include <algorithm>

namespace gantry::relax {
namespace {

// Sequences that share a block attend to it in one prefill kernel if they read its pages so many
// times in a decode kernel. TVM's number.
constexpr std::size_t min_shared_reads = 32;

// Each table may be preceded by up to 3 unused elements.
constexpr std::size_t max_padding = 3;
constexpr std::size_t tables_of_depth = 5;
constexpr std::size_t tables_of_batch = 4;

}  // namespace

Status KvBatch::collect(std::span<const std::int64_t> ids, std::span<const std::int64_t> lengths) {
  const KvBlocks& blocks = sequences_.blocks();
  members_.clear();
  chains_.clear();
  std::int64_t free = blocks.free_page_count();
  for (std::size_t i = 0; i < ids.size(); ++i) {
    GANTRY_TRY(const KvSequence* sequence, sequences_.find(ids[i]));
    const KvBlock& last = blocks[sequence->last_block];
    Member& member = members_.emplace_back();
    member.tokens = static_cast<std::int32_t>(lengths[i]);
    member.length_before = last.start + last.length;
    member.block_length_before = last.length;
    member.append = sequences_.plan_append(*sequence, member.tokens);
    const std::int64_t needed = sequences_.new_pages(member.append);
    if (needed > free) {
      return exhausted("KV cache has ", free, " free pages of ", blocks.page_count(), ", sequence ",
                       ids[i], " requires ", needed, " for ", member.tokens, " new tokens")
          .with_reason("KV_FULL");
    }
    free -= needed;

    member.chain_begin = chains_.size();
    for (std::int32_t b = sequence->last_block; b != no_block; b = blocks[b].parent)
      chains_.push_back(b);
    member.chain_end = chains_.size();
    std::reverse(chains_.begin() + static_cast<std::ptrdiff_t>(member.chain_begin), chains_.end());
  }
  return {};
}

// Fills the entries of a depth. Neighbours that share the first block become one entry if that
// saves enough; at the last depth, where their other blocks differ, never.
//
// returns  true if the decode kernel is used
bool KvBatch::collect_entries(int depth, bool is_decode) {
  const KvBlocks& blocks = sequences_.blocks();
  std::pmr::vector<Entry>& entries = entries_[static_cast<std::size_t>(depth)];
  entries.clear();
  std::size_t pages = 0, shared_pages = 0;
  std::int32_t previous = no_block;
  for (const Member& member : members_) {
    Entry entry{member.tokens, member.chain_begin, member.chain_end};
    if (depth == 0)
      entry.chain_end = entry.chain_begin + 1;
    else
      ++entry.chain_begin;
    const std::span<const std::int32_t> chain = blocks_of(entry);
    const std::int32_t first = chain.empty() ? no_block : chain.front();
    const std::size_t count = chain.empty() ? 0 : blocks[first].pages.size();
    pages += count;
    if (first != previous) shared_pages += count;
    previous = first;
    entries.push_back(entry);
  }
  const bool decode = is_decode && (pages == 0 || pages < min_shared_reads * shared_pages);
  if (decode || depth == max_kv_depth - 1) return decode;

  std::size_t kept = 0;
  for (std::size_t i = 1; i < entries.size(); ++i) {
    if (blocks_of(entries[i]).front() == blocks_of(entries[kept]).front())
      entries[kept].tokens += entries[i].tokens;
    else
      entries[++kept] = entries[i];
  }
  entries.resize(kept + 1);
  return decode;
}

KvTables KvBatch::collect_depths() {
  KvTables tables;
  tables.batch = static_cast<std::int32_t>(members_.size());
  bool is_decode = true;
  for (const Member& member : members_) {
    tables.tokens += member.tokens;
    if (member.tokens != 1) is_decode = false;
    const auto depth = static_cast<int>(
        std::min<std::size_t>(member.chain_end - member.chain_begin, max_kv_depth));
    tables.depth_count = std::max(tables.depth_count, depth);
  }
  for (int d = 0; d < tables.depth_count; ++d) {
    KvDepth& depth = tables.depths[static_cast<std::size_t>(d)];
    depth.decode = collect_entries(d, is_decode);
    depth.entry_count = static_cast<std::int32_t>(entries_[static_cast<std::size_t>(d)].size());
    tables.append_before = depth.decode && !sequences_.config().sliding_window;
  }
  return tables;
}

std::size_t KvBatch::table_size(const KvTables& tables) const {
  const KvBlocks& blocks = sequences_.blocks();
  const auto batch = static_cast<std::size_t>(tables.batch);
  std::size_t size =
      2 * static_cast<std::size_t>(tables.tokens) + 2 * batch + 1 + max_padding * tables_of_batch;
  for (int d = 0; d < tables.depth_count; ++d) {
    const std::pmr::vector<Entry>& entries = entries_[static_cast<std::size_t>(d)];
    size += 6 * entries.size() + 2 + max_padding * tables_of_depth;
    for (const Entry& entry : entries) {
      for (const std::int32_t b : blocks_of(entry)) size += blocks[b].pages.size();
    }
  }
  for (const Member& member : members_) {
    size += static_cast<std::size_t>(member.append.page_count);
  }
  return size;
}

}  // namespace gantry::relax
