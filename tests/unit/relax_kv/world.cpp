// SPDX-License-Identifier: Apache-2.0
#include "world.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>
#include <set>

namespace gantry::relax::test {

World::World(const Numbers& shape)
    : cache(*read_kv_config(shape)),
      memory_(static_cast<std::size_t>(cache.config().page_count) *
              static_cast<std::size_t>(cache.config().page_size)) {}

Numbers World::ids() const {
  Numbers ids;
  for (const auto& [id, tokens] : sequences_) ids.push_back(id);
  return ids;
}

std::vector<std::int32_t> World::table(const KvTable& table) const {
  const auto part = pass.contents().subspan(static_cast<std::size_t>(table.offset),
                                            static_cast<std::size_t>(table.size));
  return {part.begin(), part.end()};
}

// Everything that a caller can observe.
std::string World::state() const {
  std::string text = concat(cache.free_page_count(), " free, tokens in all ", cache.total_length());
  for (const auto& [id, sequence] : sequences_) {
    text += concat("; ", id, ":");
    std::vector<std::int32_t> slots(static_cast<std::size_t>(*cache.length(id)));
    EXPECT_TRUE(cache.slots(id, 0, *cache.length(id), slots).ok());
    for (const std::int32_t slot : slots) text += concat(" ", slot);
  }
  text += concat("; tables of ", pass.tables().batch, pass.active() ? ", active:" : ":");
  for (const std::int32_t number : pass.contents()) text += concat(" ", number);
  return text;
}

void World::check_blocks() const {
  const KvConfig& config = cache.config();
  std::map<std::int32_t, std::int32_t> references;
  std::set<std::int32_t> ends;
  for (const auto& [id, tokens] : sequences_) {
    const std::int32_t last = (*cache.find(id))->last_block;
    ASSERT_TRUE(ends.insert(last).second) << "two sequences end with a block";
    ++references[last];
  }
  // Each block once, children before parents.
  std::vector<std::int32_t> open(ends.begin(), ends.end());
  std::set<std::int32_t> seen(ends);
  std::set<std::int32_t> pages;
  while (!open.empty()) {
    const KvBlock& block = cache.blocks()[open.back()];
    const bool is_end = ends.contains(open.back());
    open.pop_back();
    EXPECT_EQ(block.pages.size(),
              static_cast<std::size_t>(pages_of(block.slots(), config.page_size)));
    for (const std::int32_t page : block.pages) {
      EXPECT_TRUE(page >= 0 && page < config.page_count);
      EXPECT_TRUE(pages.insert(page).second) << "page " << page << " is in two blocks";
    }
    if (!is_end) {
      EXPECT_GT(block.length, 0);
      EXPECT_EQ(block.length % config.page_size, 0);
      EXPECT_EQ(block.window_at, 0);
    }
    if (block.parent == no_block) {
      EXPECT_EQ(block.start, 0);
      continue;
    }
    const KvBlock& parent = cache.blocks()[block.parent];
    EXPECT_EQ(block.start, parent.start + parent.length);
    ++references[block.parent];
    if (seen.insert(block.parent).second) open.push_back(block.parent);
  }
  for (const auto& [block, count] : references)
    EXPECT_EQ(cache.blocks()[block].references, count) << "block " << block;
  EXPECT_EQ(static_cast<std::int32_t>(pages.size()) + cache.free_page_count(), config.page_count);
}

void World::check() const {
  check_blocks();
  std::int64_t total = 0;
  for (const auto& [id, tokens] : sequences_) {
    ASSERT_EQ(*cache.length(id), static_cast<std::int64_t>(tokens.size()));
    total += static_cast<std::int64_t>(tokens.size());
    std::vector<std::int32_t> slots(tokens.size());
    ASSERT_TRUE(cache.slots(id, 0, static_cast<std::int64_t>(tokens.size()), slots).ok());
    std::vector<std::int64_t> found;
    for (const std::int32_t slot : slots) found.push_back(memory_[static_cast<std::size_t>(slot)]);
    ASSERT_EQ(found, tokens) << "sequence " << id;
  }
  EXPECT_EQ(cache.total_length(), total);
  EXPECT_EQ(cache.empty(), sequences_.empty());
}

Status World::checked(const std::string& before, Status status) const {
  if (!status.ok()) {
    EXPECT_EQ(state(), before) << status.error().message;
  }
  check();
  return status;
}

void World::copy(const std::optional<KvPageCopy>& copy) {
  if (!copy) return;
  const std::int32_t size = cache.config().page_size;
  ASSERT_TRUE(copy->tokens > 0 && copy->tokens < size && copy->source != copy->target);
  std::copy_n(memory_.begin() + copy->source * size, copy->tokens,
              memory_.begin() + copy->target * size);
}

Status World::add(std::int64_t id) {
  const std::string before = state();
  Status status = cache.add(id);
  EXPECT_EQ(status.ok(), !sequences_.contains(id));
  if (status.ok()) sequences_[id];
  return checked(before, std::move(status));
}

Status World::remove(std::int64_t id) {
  const std::string before = state();
  Status status = cache.remove(id);
  EXPECT_EQ(status.ok(), sequences_.erase(id) == 1);
  windows_.erase(id);
  return checked(before, std::move(status));
}

void World::clear() {
  cache.clear();
  sequences_.clear();
  windows_.clear();
  EXPECT_EQ(cache.free_page_count(), cache.config().page_count);
  check();
}

Status World::fork(std::int64_t parent, std::int64_t child, std::int64_t position) {
  const std::string before = state();
  Result<std::optional<KvPageCopy>> copied = cache.fork(parent, child, position);
  if (!copied.ok()) return checked(before, std::move(copied).failure());
  copy(*copied);
  const std::vector<std::int64_t>& from = sequences_.at(parent);
  const auto end = position < 0 ? from.end() : from.begin() + position;
  sequences_[child] = {from.begin(), end};
  return checked(before, {});
}

Status World::pop(std::int64_t id, std::int64_t count) {
  const std::string before = state();
  Result<std::optional<KvPageCopy>> copied = cache.pop(id, count);
  if (!copied.ok()) return checked(before, std::move(copied).failure());
  copy(*copied);
  shorten(id, count);
  return checked(before, {});
}

void World::shorten(std::int64_t id, std::int64_t count) {
  std::vector<std::int64_t>& tokens = sequences_.at(id);
  tokens.resize(tokens.size() - static_cast<std::size_t>(count));
}

Status World::accept(const Numbers& ids, const Numbers& leaves) {
  const std::string before = state();
  Status status = pass.accept(ids, leaves);
  if (status.ok()) {
    for (std::size_t i = 0; i < ids.size(); ++i)
      shorten(ids[i], new_tokens_.at(ids[i]) - 1 - leaves[i]);
  }
  return checked(before, std::move(status));
}

Status World::enable_window(std::int64_t id, std::int64_t window, std::int64_t sink) {
  const std::string before = state();
  Status status = cache.enable_window(id, window, sink);
  if (status.ok()) windows_[id] = {window, sink};
  return checked(before, std::move(status));
}

// Returns what each new token attends to, in the order of the kernels' calls.
//
// tokens   [in]   the new tokens, which a ragged prefill reads
std::vector<std::vector<World::Key>> World::attend(const std::vector<std::int64_t>& tokens) const {
  const KvTables& tables = pass.tables();
  const std::int32_t page_size = cache.config().page_size;
  const bool sliding = cache.config().sliding_window;
  std::vector<std::vector<Key>> keys(tokens.size());
  for (int d = 0; d < tables.depth_count; ++d) {
    const KvDepth& depth = tables.depths[static_cast<std::size_t>(d)];
    const std::size_t count = static_cast<std::size_t>(depth.entry_count);
    const auto qo = table(depth.qo_indptr), pages = table(depth.page_indptr),
               indices = table(depth.page_indices), info = table(depth.length_info),
               rope = table(depth.k_rope_offset);
    EXPECT_EQ(qo.size(), count + 1);
    EXPECT_EQ(pages.size(), count + 1);
    EXPECT_EQ(indices.size(), static_cast<std::size_t>(pages.back()));
    EXPECT_EQ(info.size(), sliding ? 3 * count : count);
    EXPECT_EQ(rope.size(), count);
    EXPECT_EQ(static_cast<std::size_t>(qo.back()), tokens.size());
    if (depth.decode) {
      EXPECT_EQ(count, tokens.size());
    }
    for (std::size_t e = 0; e < count; ++e) {
      if (pages[e] == pages[e + 1]) {
        EXPECT_EQ(info[e], 0);
        continue;
      }
      const std::int32_t window_at = sliding ? info[count + e] : 0;
      const std::int32_t sink = sliding ? info[2 * count + e] : 0;
      const std::int32_t length =
          (pages[e + 1] - pages[e] - 1) * page_size + info[e] - window_at + sink;
      // The decode kernel takes row e.
      const auto first = depth.decode ? static_cast<std::int32_t>(e) : qo[e];
      const auto past = depth.decode ? first + 1 : qo[e + 1];
      for (std::int32_t p = 0; p < length; ++p) {
        const std::int32_t slot = p < sink ? p : p - sink + window_at;
        const std::int32_t page = indices[static_cast<std::size_t>(pages[e] + slot / page_size)];
        const Key key{memory_[static_cast<std::size_t>(page * page_size + slot % page_size)],
                      rope[e] + p};
        for (std::int32_t row = first; row < past; ++row)
          keys[static_cast<std::size_t>(row)].push_back(key);
      }
    }
  }
  if (tables.append_before) return keys;
  const auto rows = table(tables.append_indptr), rope = table(tables.append_rope_offset);
  for (std::size_t i = 0; i + 1 < rows.size(); ++i) {
    for (std::int32_t row = rows[i]; row < rows[i + 1]; ++row) {
      for (std::int32_t k = rows[i]; k <= row; ++k) {
        keys[static_cast<std::size_t>(row)].push_back(
            {tokens[static_cast<std::size_t>(k)], rope[i] + k - rows[i]});
      }
    }
  }
  return keys;
}

void World::write(const std::vector<std::int64_t>& tokens) {
  const auto positions = table(pass.tables().append_position);
  ASSERT_EQ(positions.size(), tokens.size());
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (positions[i] != -1) memory_[static_cast<std::size_t>(positions[i])] = tokens[i];
  }
}

Status World::forward(const Numbers& ids, const Numbers& lengths, const Numbers& parents) {
  const std::string before = state();
  std::vector<std::int32_t> shared;
  for (const std::int64_t id : ids)
    shared.push_back(sequences_.contains(id) ? last_block(id).start : 0);
  Status status = pass.begin(ids, lengths, parents);
  if (!status.ok()) return checked(before, std::move(status));
  EXPECT_TRUE(pass.active());

  const KvTables& tables = pass.tables();
  EXPECT_EQ(tables.batch, static_cast<std::int32_t>(ids.size()));
  EXPECT_EQ(tables.q_rope_position.offset, 0);
  std::vector<std::int64_t> tokens(
      static_cast<std::size_t>(std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0})));
  std::iota(tokens.begin(), tokens.end(), next_token_);
  next_token_ += static_cast<std::int64_t>(tokens.size());

  if (tables.append_before) write(tokens);
  const std::vector<std::vector<Key>> attended = attend(tokens);
  if (!tables.append_before) write(tokens);

  const std::vector<std::int32_t> rope = table(tables.q_rope_position);
  EXPECT_EQ(rope.size(), tokens.size());
  std::size_t row = 0;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    new_tokens_[ids[i]] = lengths[i];
    std::vector<std::int64_t>& sequence = sequences_.at(ids[i]);
    std::vector<Key> expected;
    for (const std::int64_t token : sequence)
      expected.push_back({token, static_cast<std::int64_t>(expected.size())});
    for (std::int64_t t = 0; t < lengths[i]; ++t, ++row) {
      EXPECT_EQ(rope[row], static_cast<std::int32_t>(expected.size()));
      sequence.push_back(tokens[row]);
      expected.push_back({tokens[row], static_cast<std::int64_t>(expected.size())});
      EXPECT_EQ(attended[row], expected) << "sequence " << ids[i] << ", new token " << t;
    }
    const auto window = windows_.find(ids[i]);
    if (window == windows_.end()) continue;
    const auto removed = static_cast<std::int64_t>(sequence.size()) - window->second.size;
    if (removed <= 0) continue;
    // Shared tokens cannot be removed.
    const auto sink = sequence.begin() + std::max<std::int64_t>(window->second.sink, shared[i]);
    sequence.erase(sink, sink + removed);
  }
  pass.end();
  EXPECT_FALSE(pass.active());
  return checked(before, {});
}

}  // namespace gantry::relax::test
