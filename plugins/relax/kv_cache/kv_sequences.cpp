// SPDX-License-Identifier: Apache-2.0
#include "kv_sequences.hpp"

#include <algorithm>
#include <utility>

namespace gantry::relax {

Result<const KvSequence*> KvSequences::find(std::int64_t id) const {
  const auto found = sequences_.find(id);
  if (found == sequences_.end()) {
    return not_found("The sequence \"", id, "\" cannot be found in KV cache.")
        .with_reason("KV_SEQUENCE");
  }
  return &found->second;
}

Result<KvSequence*> KvSequences::find_mutable(std::int64_t id) {
  GANTRY_TRY(const KvSequence* found, find(id));
  return const_cast<KvSequence*>(found);
}

Status KvSequences::check_new(std::int64_t id) const {
  if (!sequences_.contains(id)) return {};
  return invalid("The sequence \"", id, "\" is already in the KV cache.")
      .with_reason("KV_SEQUENCE");
}

std::int32_t KvSequences::length_of(const KvSequence& sequence) const {
  const KvBlock& last = blocks_[sequence.last_block];
  return last.start + last.length;
}

Status KvSequences::add(std::int64_t id) {
  GANTRY_CHECK(check_new(id));
  blocks_.reserve_blocks(1);
  KvSequence& sequence = sequences_[id];
  sequence.last_block = blocks_.take_block();
  return {};
}

Status KvSequences::remove(std::int64_t id) {
  GANTRY_TRY(const KvSequence* sequence, find(id));
  blocks_.drop_reference(sequence->last_block);
  sequences_.erase(id);
  return {};
}

void KvSequences::clear() noexcept {
  sequences_.clear();
  blocks_.clear();
}

void KvSequences::plan_branch(std::int32_t last_block, std::int32_t position, Branch& branch) {
  branch.from = last_block;
  while (blocks_[branch.from].start > position) branch.from = blocks_[branch.from].parent;

  const KvBlock& from = blocks_[branch.from];
  const std::int32_t offset = position - from.start;
  branch.copied = offset % config_.page_size;
  const auto shared = from.pages.begin() + offset / config_.page_size;
  branch.shared_pages.assign(from.pages.begin(), shared);
  if (branch.copied != 0) branch.own_pages.reserve(1);
}

// Adds the block; two blocks are reserved, and a page is free if the branch has a copy.
std::int32_t KvSequences::add_branch(Branch&& branch, std::optional<KvPageCopy>& copy) noexcept {
  const std::int32_t child_index = blocks_.take_block();
  std::int32_t shared_index = no_block;
  const auto moved = static_cast<std::int32_t>(branch.shared_pages.size());
  if (moved != 0) shared_index = blocks_.take_block();

  KvBlock& from = blocks_[branch.from];
  KvBlock& child = blocks_[child_index];
  if (moved != 0) {
    const std::int32_t tokens = moved * config_.page_size;
    KvBlock& shared = blocks_[shared_index];
    shared.start = from.start;
    shared.length = tokens;
    shared.parent = from.parent;
    shared.references = 2;
    shared.pages = std::move(branch.shared_pages);
    from.pages.erase(from.pages.begin(), from.pages.begin() + moved);
    KvBlocks::trim(from.pages);
    from.start += tokens;
    from.length -= tokens;
    // Only the sink of a block that slides is shared.
    if (from.window_at != 0) {
      from.sink -= tokens;
      from.window_at -= tokens;
    }
    from.parent = shared_index;
  } else if (from.parent != no_block) {
    ++blocks_[from.parent].references;
  }
  child.parent = from.parent;
  child.start = from.start;
  child.length = branch.copied;
  if (branch.copied != 0) {
    child.pages = std::move(branch.own_pages);
    child.pages.push_back(blocks_.take_page());
    copy = {from.pages.front(), child.pages.front(), branch.copied};
  }
  return child_index;
}

Result<std::optional<KvPageCopy>> KvSequences::fork(std::int64_t parent, std::int64_t child,
                                                    std::int64_t position) {
  GANTRY_TRY(KvSequence * from, find_mutable(parent));
  GANTRY_CHECK(check_new(child));
  const std::int32_t length = length_of(*from);
  const std::int32_t last = from->last_block;
  std::int32_t limit = length;
  if (from->window != 0) limit = std::min(limit, std::max(blocks_[last].start, from->sink));
  if (position == -1) position = length;
  if (position < 0 || position > limit) {
    return number_out_of_range(concat("position of a fork of sequence ", parent), position, 0,
                               limit);
  }

  // A block that is shared as a whole accepts no more tokens.
  const bool shares_last =
      position == length && position % config_.page_size == 0 && blocks_[last].length > 0;
  Branch branch = empty_branch();
  if (!shares_last) plan_branch(last, static_cast<std::int32_t>(position), branch);
  if (branch.copied != 0 && blocks_.free_page_count() == 0) {
    return exhausted("KV cache has 0 free pages of ", blocks_.page_count(), ", the fork at token ",
                     position, " of sequence ", parent, " requires 1")
        .with_reason("KV_FULL");
  }
  blocks_.reserve_blocks(2);
  if (branch.copied != 0) blocks_.reserve_pages(1);
  KvSequence& to = sequences_[child];

  std::optional<KvPageCopy> copy;
  if (!shares_last) {
    to.last_block = add_branch(std::move(branch), copy);
    return copy;
  }
  for (std::int32_t* end : {&from->last_block, &to.last_block}) {
    *end = blocks_.take_block();
    blocks_[*end].start = length;
    blocks_[*end].parent = last;
  }
  ++blocks_[last].references;
  return copy;
}

// Pages that the removed tokens occupy are freed, the last one first.
void KvSequences::shorten(KvBlock& block, std::int32_t length) noexcept {
  if (length <= block.sink) block.sink = block.window_at = 0;
  block.length = length;
  const auto kept = static_cast<std::size_t>(pages_of(block.slots(), config_.page_size));
  while (block.pages.size() > kept) {
    blocks_.free_page(block.pages.back());
    block.pages.pop_back();
  }
  KvBlocks::trim(block.pages);
}

Result<std::optional<KvPageCopy>> KvSequences::pop(std::int64_t id, std::int64_t count) {
  GANTRY_TRY(KvSequence * sequence, find_mutable(id));
  const std::int32_t length = length_of(*sequence);
  if (count < 0 || count > length) {
    return number_out_of_range(concat("number of tokens to remove from sequence ", id), count, 0,
                               length);
  }
  const auto position = static_cast<std::int32_t>(length - count);

  // Blocks of this sequence only, which end after the position, are freed.
  std::int32_t last = sequence->last_block;
  std::size_t freed_pages = 0;
  while (blocks_[last].references == 1 && blocks_[last].start > position) {
    freed_pages += blocks_[last].pages.size();
    last = blocks_[last].parent;
  }
  const bool is_shared = blocks_[last].references > 1;
  Branch branch = empty_branch();
  if (is_shared) {
    plan_branch(last, position, branch);
    if (branch.copied != 0 && blocks_.free_page_count() + freed_pages == 0) {
      return exhausted("KV cache has 0 free pages of ", blocks_.page_count(), ", sequence ", id,
                       " requires 1 to end at token ", position, " of a shared page")
          .with_reason("KV_FULL");
    }
    blocks_.reserve_blocks(2);
    if (branch.copied != 0 && freed_pages == 0) blocks_.reserve_pages(1);
  }

  while (sequence->last_block != last)
    blocks_.free_block(std::exchange(sequence->last_block, blocks_[sequence->last_block].parent));
  std::optional<KvPageCopy> copy;
  if (is_shared) {
    sequence->last_block = add_branch(std::move(branch), copy);
    blocks_.drop_reference(last);
  } else {
    shorten(blocks_[last], position - blocks_[last].start);
  }
  return copy;
}

Status KvSequences::enable_window(std::int64_t id, std::int64_t window, std::int64_t sink) {
  if (!config_.sliding_window) {
    return invalid("KV cache is created without sliding window, sequence ", id, " cannot have one")
        .with_reason("ARGUMENT");
  }
  GANTRY_TRY(KvSequence * sequence, find_mutable(id));
  if (sequence->window != 0) {
    return invalid("sequence ", id, " has a sliding window of ", sequence->window,
                   " tokens already")
        .with_reason("KV_SEQUENCE");
  }
  if (window < 1 || window > INT32_MAX)
    return number_out_of_range(concat("sliding window of sequence ", id), window, 1, INT32_MAX);
  if (sink < 0 || sink >= window)
    return number_out_of_range(concat("sink of sequence ", id), sink, 0, window - 1);
  if (const std::int32_t shared = blocks_[sequence->last_block].start; shared >= window) {
    return invalid("sequence ", id, " has ", shared, " tokens in shared pages, limit is ",
                   window - 1, " for a sliding window of ", window)
        .with_reason("ARGUMENT_RANGE");
  }
  sequence->window = static_cast<std::int32_t>(window);
  sequence->sink = static_cast<std::int32_t>(sink);
  return {};
}

Result<std::int32_t> KvSequences::length(std::int64_t id) const {
  GANTRY_TRY(const KvSequence* sequence, find(id));
  return length_of(*sequence);
}

std::int64_t KvSequences::total_length() const {
  std::int64_t total = 0;
  for (const auto& [id, sequence] : sequences_) total += length_of(sequence);
  return total;
}

Status KvSequences::slots(std::int64_t id, std::int64_t begin, std::int64_t end,
                          std::span<std::int32_t> slots) const {
  GANTRY_TRY(const KvSequence* sequence, find(id));
  const std::int32_t length = length_of(*sequence);
  if (begin < 0 || begin > end || end > length) {
    return invalid("tokens ", begin, "..", end, " of sequence ", id,
                   " are requested, its length is ", length)
        .with_reason("ARGUMENT_RANGE");
  }
  if (std::cmp_not_equal(slots.size(), end - begin)) {
    return invalid("room for ", slots.size(), " slots, tokens requested are ", end - begin)
        .with_reason("ARGUMENT_SHAPE");
  }
  for (std::int32_t b = sequence->last_block; b != no_block; b = blocks_[b].parent) {
    const KvBlock& block = blocks_[b];
    const auto first = std::max<std::int64_t>(begin, block.start);
    const auto past = std::min<std::int64_t>(end, block.start + block.length);
    for (std::int64_t token = first; token < past; ++token) {
      slots[static_cast<std::size_t>(token - begin)] =
          block.position_of(static_cast<std::int32_t>(token - block.start), config_.page_size);
    }
  }
  return {};
}

KvAppend KvSequences::plan_append(const KvSequence& sequence, std::int32_t tokens) const {
  const std::int64_t page_size = config_.page_size;
  const KvBlock& block = blocks_[sequence.last_block];
  KvAppend append;
  append.block = sequence.last_block;
  append.length = std::int64_t{block.length} + tokens;
  append.sink = block.sink;
  append.window_at = block.window_at;
  const std::int64_t removed = block.start + append.length - sequence.window;
  if (sequence.window != 0 && removed > 0) {
    if (block.window_at == 0)
      append.window_at = append.sink = std::max(sequence.sink - block.start, 0);
    append.length -= removed;
    append.window_at += removed;
    // Pages between the sink and the window.
    const std::int64_t sink_pages = (append.sink + page_size - 1) / page_size;
    const std::int64_t unused =
        std::max<std::int64_t>(append.window_at / page_size - sink_pages, 0);
    append.window_at -= unused * page_size;
    const auto held = static_cast<std::int64_t>(block.pages.size());
    append.drop_at = std::min(sink_pages, held);
    append.drop_count = std::min(unused, held - append.drop_at);
  }
  append.page_count = (append.length - append.sink + append.window_at + page_size - 1) / page_size;
  return append;
}

void KvSequences::reserve_pages(const KvAppend& append) {
  KvPageList& pages = blocks_[append.block].pages;
  const auto needed = static_cast<std::size_t>(append.page_count);
  if (needed > pages.capacity()) pages.reserve(std::max(needed, 2 * pages.capacity()));
}

void KvSequences::append(const KvAppend& append) noexcept {
  KvBlock& block = blocks_[append.block];
  const auto first = block.pages.begin() + append.drop_at;
  const auto past = first + append.drop_count;
  for (auto page = first; page != past; ++page) blocks_.free_page(*page);
  block.pages.erase(first, past);
  while (std::cmp_less(block.pages.size(), append.page_count))
    block.pages.push_back(blocks_.take_page());
  block.length = static_cast<std::int32_t>(append.length);
  block.sink = static_cast<std::int32_t>(append.sink);
  block.window_at = static_cast<std::int32_t>(append.window_at);
}

}  // namespace gantry::relax
