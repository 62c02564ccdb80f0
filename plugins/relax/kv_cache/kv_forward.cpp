// SPDX-License-Identifier: Apache-2.0
#include "kv_forward.hpp"

#include <algorithm>
#include <numeric>

namespace gantry::relax {
namespace {

// Trees are recognized to be refused by name.
//
// parents  [in]   as for KvForward::begin()
Status check_chains(std::span<const std::int64_t> ids, std::span<const std::int64_t> lengths,
                    std::span<const std::int64_t> parents, std::int64_t tokens) {
  if (!std::cmp_equal(parents.size(), tokens)) {
    return invalid("forward pass has ", tokens, " new tokens and ", parents.size(),
                   " parents of tokens, the numbers must be equal")
        .with_reason("ARGUMENT_SHAPE");
  }
  std::size_t at = 0;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    for (std::int64_t token = 0; token < lengths[i]; ++token) {
      const std::int64_t parent = parents[at++];
      if (parent < -1 || parent >= token) {
        return invalid("parent of new token ", token, " of sequence ", ids[i], " is ", parent,
                       ", range is -1..", token - 1)
            .with_reason("ARGUMENT_RANGE");
      }
      if (parent != token - 1) {
        return unsupported("tree attention is not supported: parent of new token ", token,
                           " of sequence ", ids[i], " is ", parent, ", a chain has ", token - 1)
            .with_reason("KV_TREE");
      }
    }
  }
  return {};
}

}  // namespace

Status KvForward::check_counts(std::span<const std::int64_t> ids,
                               std::span<const std::int64_t> lengths) const {
  const KvConfig& config = sequences_->config();
  if (ids.size() != lengths.size()) {
    return invalid("forward pass has ", ids.size(), " sequences and ", lengths.size(),
                   " lengths, the numbers must be equal")
        .with_reason("ARGUMENT_SHAPE");
  }
  if (ids.empty() || std::cmp_greater(ids.size(), config.max_batch)) {
    return invalid("forward pass has ", ids.size(), " sequences, range is 1..", config.max_batch)
        .with_reason("ARGUMENT_RANGE");
  }
  std::int64_t left = config.prefill_chunk;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (lengths[i] < 1) {
      return invalid("sequence ", ids[i], " has ", lengths[i], " new tokens, minimum is 1")
          .with_reason("ARGUMENT_RANGE");
    }
    if (lengths[i] > left) {
      return invalid("sequence ", ids[i], " has ", lengths[i], " new tokens, ", left,
                     " are left of prefill_chunk ", config.prefill_chunk)
          .with_reason("ARGUMENT_RANGE");
    }
    left -= lengths[i];
  }
  return {};
}

Status KvForward::check_unique(std::span<const std::int64_t> ids) {
  sorted_ids_.assign(ids.begin(), ids.end());
  std::ranges::sort(sorted_ids_);
  const auto twice = std::ranges::adjacent_find(sorted_ids_);
  if (twice != sorted_ids_.end()) {
    return invalid("sequence ", *twice, " occurs twice").with_reason("KV_SEQUENCE");
  }
  return {};
}

// Allocates everything that the rest of begin() needs.
Status KvForward::reserve(const KvTables& tables,
                          const std::function<Status(std::size_t)>& reserve_more) {
  const std::size_t size = batch_.table_size(tables);
  if (size > INT32_MAX) {
    return exhausted("tables of a forward pass of ", tables.batch, " sequences have ", size,
                     " numbers, limit is ", INT32_MAX)
        .with_reason("KV_FULL");
  }
  buffer_.reserve(size);
  std::int64_t new_pages = 0;
  for (const KvBatch::Member& member : batch_.members()) {
    sequences_->reserve_pages(member.append);
    new_pages += sequences_->new_pages(member.append);
  }
  sequences_->reserve_new_pages(new_pages);
  return reserve_more ? reserve_more(size) : Status();
}

void KvForward::append() noexcept {
  for (const KvBatch::Member& member : batch_.members()) sequences_->append(member.append);
}

void KvForward::write_depth(int depth, KvDepth& tables) noexcept {
  const KvBlocks& blocks = sequences_->blocks();
  const KvConfig& config = sequences_->config();
  const std::span<const KvBatch::Entry> entries = batch_.entries(depth);
  const std::size_t count = entries.size();
  std::size_t page_count = 0;
  for (const KvBatch::Entry& entry : entries) {
    for (const std::int32_t b : batch_.blocks_of(entry)) page_count += blocks[b].pages.size();
  }
  tables.qo_indptr = buffer_.add(count + 1);
  tables.page_indptr = buffer_.add(count + 1);
  tables.page_indices = buffer_.add(page_count);
  tables.length_info = buffer_.add(config.sliding_window ? 3 * count : count);
  tables.k_rope_offset = buffer_.add(count);
  const std::span qo_indptr = buffer_[tables.qo_indptr];
  const std::span page_indptr = buffer_[tables.page_indptr];
  const std::span page_indices = buffer_[tables.page_indices];
  const std::span length_info = buffer_[tables.length_info];
  const std::span k_rope_offset = buffer_[tables.k_rope_offset];

  qo_indptr[0] = page_indptr[0] = 0;
  auto to = page_indices.begin();
  for (std::size_t i = 0; i < count; ++i) {
    const std::span<const std::int32_t> chain = batch_.blocks_of(entries[i]);
    qo_indptr[i + 1] = qo_indptr[i] + entries[i].tokens;
    k_rope_offset[i] = chain.empty() ? 0 : blocks[chain.front()].start;
    std::int32_t slots = 0, sink = 0, window_at = 0;
    for (const std::int32_t b : chain) {
      const KvBlock& block = blocks[b];
      to = std::ranges::copy(block.pages, to).out;
      // Only the last block slides. The tokens of those before it are part of the sink then.
      if (block.window_at != 0) {
        sink = slots + block.sink;
        window_at = slots + block.window_at;
      }
      slots += block.slots();
    }
    page_indptr[i + 1] = static_cast<std::int32_t>(to - page_indices.begin());
    length_info[i] = slots == 0 ? 0 : (slots - 1) % config.page_size + 1;
    if (config.sliding_window) {
      length_info[count + i] = window_at;
      length_info[2 * count + i] = sink;
    }
  }
}

void KvForward::write_tokens(KvTables& tables) noexcept {
  const KvBlocks& blocks = sequences_->blocks();
  const std::span<const KvBatch::Member> members = batch_.members();
  tables.append_indptr = buffer_.add(members.size() + 1);
  tables.append_rope_offset = buffer_.add(members.size());
  tables.append_position = buffer_.add(static_cast<std::size_t>(tables.tokens));
  const std::span append_indptr = buffer_[tables.append_indptr];
  const std::span append_rope_offset = buffer_[tables.append_rope_offset];
  auto position = buffer_[tables.append_position].begin();
  auto rope = buffer_[tables.q_rope_position].begin();

  append_indptr[0] = 0;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const KvBatch::Member& member = members[i];
    append_indptr[i + 1] = append_indptr[i] + member.tokens;
    append_rope_offset[i] = member.length_before;
    const KvBlock& block = blocks[member.append.block];
    for (std::int32_t t = 0; t < member.tokens; ++t) {
      *rope++ = member.length_before + t;
      // The token's place in the block: in the sink where the token was appended, else counted from
      // the end, because the window may have slid.
      std::int32_t place = member.block_length_before + t;
      if (place >= block.sink) {
        place = block.length - member.tokens + t;
        if (place < block.sink) place = -1;
      }
      *position++ = place < 0 ? -1 : block.position_of(place, sequences_->config().page_size);
    }
  }
}

Status KvForward::begin(std::span<const std::int64_t> ids, std::span<const std::int64_t> lengths,
                        std::span<const std::int64_t> parents,
                        const std::function<Status(std::size_t)>& reserve_more) {
  GANTRY_CHECK(check_counts(ids, lengths));
  GANTRY_CHECK(check_unique(ids));
  if (!parents.empty()) {
    if (sequences_->config().sliding_window) {
      return unsupported("token trees are not supported in a KV cache with sliding window")
          .with_reason("KV_TREE");
    }
    const auto tokens = std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
    GANTRY_CHECK(check_chains(ids, lengths, parents, tokens));
  }
  GANTRY_CHECK(batch_.collect(ids, lengths));
  KvTables tables = batch_.collect_depths();
  if (!parents.empty()) unaccepted_.reserve(ids.size());
  GANTRY_CHECK(reserve(tables, reserve_more));

  // Nothing fails from here on.
  buffer_.clear();
  tables.q_rope_position = buffer_.add(static_cast<std::size_t>(tables.tokens));
  if (tables.append_before) append();
  for (int d = 0; d < tables.depth_count; ++d)
    write_depth(d, tables.depths[static_cast<std::size_t>(d)]);
  if (!tables.append_before) append();
  write_tokens(tables);
  tables_ = tables;
  active_ = true;
  unaccepted_.clear();
  if (!parents.empty()) {
    for (std::size_t i = 0; i < ids.size(); ++i)
      unaccepted_.push_back({ids[i], batch_.members()[i].tokens});
  }
  return {};
}

Status KvForward::accept(std::span<const std::int64_t> ids, std::span<const std::int64_t> leaves) {
  if (ids.size() != leaves.size()) {
    return invalid("tokens of ", ids.size(), " sequences are accepted with ", leaves.size(),
                   " leaves, the numbers must be equal")
        .with_reason("ARGUMENT_SHAPE");
  }
  GANTRY_CHECK(check_unique(ids));
  for (std::size_t i = 0; i < ids.size(); ++i) {
    GANTRY_TRY(const KvSequence* sequence, sequences_->find(ids[i]));
    const auto chain = std::ranges::find(unaccepted_, ids[i], &Chain::id);
    if (chain == unaccepted_.end()) {
      return invalid("sequence ", ids[i], " has no new tokens with parents to accept")
          .with_reason("KV_SEQUENCE");
    }
    if (leaves[i] < -1 || leaves[i] >= chain->tokens) {
      return number_out_of_range(concat("leaf of sequence ", ids[i]), leaves[i], -1,
                                 chain->tokens - 1);
    }
    const std::int32_t length = sequences_->blocks()[sequence->last_block].length;
    if (length < chain->tokens) {
      return invalid("sequence ", ids[i], " has changed since its pass, its last block has ",
                     length, " tokens, new tokens are ", chain->tokens)
          .with_reason("KV_SEQUENCE");
    }
  }

  // The tokens are in blocks that are not shared, so that pop() does not fail.
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto chain = std::ranges::find(unaccepted_, ids[i], &Chain::id);
    GANTRY_CHECK(sequences_->pop(ids[i], chain->tokens - 1 - leaves[i]));
    unaccepted_.erase(chain);
  }
  return {};
}

}  // namespace gantry::relax
