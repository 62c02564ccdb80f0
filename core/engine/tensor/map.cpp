// SPDX-License-Identifier: Apache-2.0
#include "core/engine/tensor/map.hpp"

#include "core/engine/tensor/big_int.hpp"

#include <gantry/byte_count.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <string_view>
#include <utility>
#include <vector>

namespace gantry {
namespace {

static_assert(offsetof(MapObject, data) == 24 && offsetof(MapObject, delete_data) == 48 &&
              offsetof(MapObject, shift) == 56 && offsetof(MapObject, last) == 72);

constexpr std::uint64_t kNowhere = UINT64_MAX;
constexpr std::uint64_t kBlockSlots = 16;
constexpr std::uint8_t kEmpty = 0xff, kProtected = 0xfe, kTail = 0x80;

struct Entry {
  gantry_value key, value;
  std::uint64_t before, after;
};
struct Block {
  std::uint8_t states[kBlockSlots];
  Entry entries[kBlockSlots];
};
static_assert(sizeof(Entry) == 48 && sizeof(Block) == kBlockSlots * (sizeof(Entry) + 1));

// The distances from an entry to the next one of its chain, by the number in its state. Of the 126 of
// tvm-ffi, new maps use those below 32 blocks: others are only read.
constexpr std::uint64_t distances[] = {0,   1,   2,   3,   4,   5,   6,   7,   8,   9,   10,
                                       11,  12,  13,  14,  15,  21,  28,  36,  45,  55,  66,
                                       78,  91,  105, 120, 136, 153, 171, 190, 210, 231, 253,
                                       276, 300, 325, 351, 378, 406, 435, 465, 496};
// Keys of one slot, at most: more are spread over twice as many slots.
constexpr int kMaxChain = 32;
// The largest factor by which a table grows to separate keys.
constexpr std::uint64_t kMaxSpread = 4;

std::uint64_t blocks_of(std::uint64_t slots) { return (slots + kBlockSlots - 1) / kBlockSlots; }

bool is_small(const MapObject& map) { return (map.slots & kSmallMap) != 0; }

std::uint64_t combine(std::uint64_t key, std::uint64_t value) {
  return key ^ (value + 0x9e3779b9 + (key << 6) + (key >> 2));
}

std::uint64_t hash_of(std::string_view bytes) {
  constexpr std::uint64_t factor = 1099511628211ULL, modulus = 2147483647ULL;
  std::uint64_t hash = 0;
  for (std::size_t at = 0; at < bytes.size(); at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, std::min<std::size_t>(8, bytes.size() - at));
    hash = (hash * factor + word) % modulus;
  }
  return hash;
}

std::optional<std::string_view> bytes_in(const gantry_value& value) {
  gantry_bytes bytes{};
  if (gantry_value_bytes(&value, &bytes) == 0) return std::nullopt;
  return std::string_view(bytes.data, bytes.size);
}

bool is_string(const gantry_value& value) {
  return value.kind == GANTRY_STRING || value.kind == GANTRY_SMALL_STRING;
}

void release_value(const gantry_value& value) {
  if (holds_object(value)) gantry_release(value.object);
}

void release_content(MapObject& map) {
  if (is_small(map)) {
    const auto* const values = static_cast<const gantry_value*>(map.data);
    for (std::uint64_t i = 0; i < 2 * map.count; ++i) release_value(values[i]);
  } else if (map.data != nullptr) {
    auto* const blocks = static_cast<Block*>(map.data);
    for (std::uint64_t i = 0; i < blocks_of(map.slots) * kBlockSlots; ++i) {
      const Block& block = blocks[i / kBlockSlots];
      const std::uint8_t state = block.states[i % kBlockSlots];
      if (state == kEmpty || state == kProtected) continue;
      release_value(block.entries[i % kBlockSlots].key);
      release_value(block.entries[i % kBlockSlots].value);
    }
  }
  if (map.delete_data != nullptr) map.delete_data(map.data);
  std::free(map.view);
}

void destroy_map(void* self, std::int32_t flags) {
  if ((flags & GANTRY_DELETE_CONTENT) != 0) release_content(*static_cast<MapObject*>(self));
  if ((flags & GANTRY_DELETE_MEMORY) != 0) std::free(self);
}
void delete_map(void* self, std::int32_t flags) { delete_nested(self, flags, destroy_map); }

void free_blocks(void* data) { std::free(data); }

// Blocks under construction.
class Table {
 public:
  // slots    [in]   a power of two
  static Result<Table> of(std::uint64_t slots) {
    Table table(slots);
    table.blocks_.reset(static_cast<Block*>(std::calloc(blocks_of(slots), sizeof(Block))));
    if (table.blocks_ == nullptr)
      return exhausted("map: no memory for ", ByteCount(blocks_of(slots) * sizeof(Block)));
    for (std::uint64_t i = 0; i < blocks_of(slots); ++i)
      std::fill_n(table.blocks_.get()[i].states, kBlockSlots, kEmpty);
    return table;
  }

  // Places the pairs: each chain's first key at the slot of its hash, then the others.
  //
  // slots_of_pairs  [out]  of each pair; that of its twin for an equal key
  // returns  false  a chain is too long, or has no free slot
  bool place(std::span<const gantry_value> items, std::vector<std::uint64_t>& slots_of_pairs) {
    slots_of_pairs.assign(items.size() / 2, kNowhere);
    for (std::size_t i = 0; i < slots_of_pairs.size(); ++i) {
      const std::uint64_t slot = slot_of(items[2 * i]);
      if (state(slot) != kEmpty) continue;
      put(slot, 0, items, i);
      slots_of_pairs[i] = slot;
    }
    for (std::size_t i = 0; i < slots_of_pairs.size(); ++i) {
      if (slots_of_pairs[i] == kNowhere && !chain(items, i, slots_of_pairs[i])) return false;
    }
    return true;
  }

  Entry& entry(std::uint64_t slot) {
    return blocks_.get()[slot / kBlockSlots].entries[slot % kBlockSlots];
  }
  std::uint32_t shift() const { return shift_; }
  std::uint64_t slots() const { return slots_; }
  Block* take() { return blocks_.release(); }

 private:
  struct Free {
    void operator()(Block* blocks) const { std::free(blocks); }
  };
  explicit Table(std::uint64_t slots)
      : slots_(slots), shift_(static_cast<std::uint32_t>(64 - std::countr_zero(slots))) {}

  std::uint8_t& state(std::uint64_t slot) {
    return blocks_.get()[slot / kBlockSlots].states[slot % kBlockSlots];
  }
  std::uint64_t slot_of(const gantry_value& key) const {
    return (11400714819323198485ULL * map_hash(key)) >> shift_;
  }
  void put(std::uint64_t slot, std::uint8_t kind, std::span<const gantry_value> items,
           std::size_t pair) {
    state(slot) = kind;
    entry(slot) = {items[2 * pair], items[2 * pair + 1], kNowhere, kNowhere};
  }
  bool chain(std::span<const gantry_value> items, std::size_t pair, std::uint64_t& slot) {
    std::uint64_t at = slot_of(items[2 * pair]);
    for (int length = 1; length < kMaxChain; ++length) {
      if (same_key(entry(at).key, items[2 * pair])) {
        slot = at;
        return true;
      }
      const std::uint8_t jump = state(at) & 0x7f;
      if (jump == 0) break;
      if (length == kMaxChain - 1) return false;
      at = (at + distances[jump]) % slots_;
    }
    for (std::uint8_t jump = 1; jump < std::size(distances); ++jump) {
      slot = (at + distances[jump]) % slots_;
      if (state(slot) != kEmpty) continue;
      put(slot, kTail, items, pair);
      state(at) = static_cast<std::uint8_t>((state(at) & kTail) | jump);
      return true;
    }
    return false;
  }

  std::unique_ptr<Block, Free> blocks_;
  std::uint64_t slots_;
  std::uint32_t shift_;
};

// Links the entries in the order of the pairs.
void link(Table& table, std::span<const std::uint64_t> slots_of_pairs,
          std::span<const gantry_value> items, MapObject& map) {
  map.first = map.last = kNowhere;
  for (std::size_t i = 0; i < slots_of_pairs.size(); ++i) {
    const std::uint64_t slot = slots_of_pairs[i];
    Entry& entry = table.entry(slot);
    const bool is_linked = slot == map.first || entry.before != kNowhere;
    if (is_linked) {
      // An equal key: its value replaces the earlier one.
      release_value(items[2 * i]);
      release_value(entry.value);
      entry.value = items[2 * i + 1];
      continue;
    }
    entry.before = map.last;
    if (map.last == kNowhere) {
      map.first = slot;
    } else {
      table.entry(map.last).after = slot;
    }
    map.last = slot;
    ++map.count;
  }
}

// Returns a map without pairs, with memory for some.
Result<MapObject*> new_map_object(std::uint64_t pairs) {
  constexpr std::uint64_t pair_bytes = 2 * sizeof(gantry_value);
  const bool fits = pairs <= (PTRDIFF_MAX - sizeof(MapObject)) / pair_bytes;
  void* const block = fits ? std::malloc(sizeof(MapObject) + pairs * pair_bytes) : nullptr;
  if (block == nullptr) return exhausted("map: no memory for ", pairs, " pairs");
  auto* const map = new (block) MapObject{};
  map->header = fresh_header(GANTRY_MAP, delete_map);
  map->data = map + 1;
  map->slots = pairs | kSmallMap;
  return map;
}

ObjectPtr new_small_map(MapObject& map, std::span<const gantry_value> items) {
  auto* const values = static_cast<gantry_value*>(map.data);
  for (std::size_t i = 0; i < items.size(); i += 2) {
    std::uint64_t at = 0;
    while (at < map.count && !same_key(values[2 * at], items[i])) ++at;
    if (at < map.count) {
      release_value(items[i]);
      release_value(values[2 * at + 1]);
    } else {
      values[2 * at] = items[i];
      ++map.count;
    }
    values[2 * at + 1] = items[i + 1];
  }
  return ObjectPtr::adopt(&map.header);
}

}  // namespace

bool same_key(const gantry_value& a, const gantry_value& b) {
  const auto left = bytes_in(a), right = bytes_in(b);
  if (left && right) return is_string(a) == is_string(b) && *left == *right;
  if (a.kind == kBigInt && b.kind == kBigInt) return std::ranges::equal(words_of(a), words_of(b));
  return a.kind == b.kind && a.small_size == b.small_size && a.i == b.i;
}

std::uint64_t map_hash(const gantry_value& key) {
  if (const auto bytes = bytes_in(key))
    return combine(is_string(key) ? GANTRY_STRING : GANTRY_BYTES, hash_of(*bytes));
  // as libraries find them with the attribute of the type (native/ffi/type_registry.cpp)
  const std::uint64_t content =
      key.kind == kBigInt ? hash_of_words(words_of(key)) : static_cast<std::uint64_t>(key.i);
  return combine(static_cast<std::uint64_t>(std::int64_t{key.kind}), content);
}

Result<ObjectPtr> new_map(std::span<const gantry_value> items) {
  const std::uint64_t pairs = items.size() / 2;
  if (pairs > kMaxSmallPairs) {
    GANTRY_TRY(MapObject* const made, new_map_object(0));
    ObjectPtr map = ObjectPtr::adopt(&made->header);
    std::vector<std::uint64_t> slots_of_pairs;
    const std::uint64_t fewest = std::bit_ceil(2 * pairs);
    for (std::uint64_t slots = fewest; slots <= kMaxSpread * fewest; slots *= 2) {
      GANTRY_TRY(Table table, Table::of(slots));
      if (!table.place(items, slots_of_pairs)) continue;
      made->count = 0;
      link(table, slots_of_pairs, items, *made);
      made->slots = table.slots();
      made->shift = table.shift();
      made->data = table.take();
      made->delete_data = free_blocks;
      return map;
    }
    return unsupported("map has ", pairs, " pairs, of which more than ", kMaxChain,
                       " have keys whose hashes collide in a table of ", kMaxSpread * fewest,
                       " slots; pass them as an array of pairs");
  }
  GANTRY_TRY(MapObject* const made, new_map_object(pairs));
  return new_small_map(*made, items);
}

bool is_own_map(const gantry_object& object) {
  void (*const deleter)(void*, std::int32_t) = delete_map;
  return object.deleter == deleter;
}

Result<std::vector<gantry_value>> copied_map_items(const gantry_object& object) {
  const auto& map = reinterpret_cast<const MapObject&>(object);
  if (is_small(map)) {
    const auto* const values = static_cast<const gantry_value*>(map.data);
    return std::vector<gantry_value>(values, values + 2 * map.count);
  }
  std::vector<gantry_value> items;
  if (map.count > map.slots || (map.data == nullptr && map.count != 0))
    return malformed(0, "map has ", map.count, " pairs in ", map.slots, " slots");
  items.reserve(2 * map.count);
  std::uint64_t slot = map.first;
  for (std::uint64_t i = 0; i < map.count; ++i) {
    if (slot >= map.slots)
      return malformed(0, "pair ", i, " of a map is in slot ", slot, " of ", map.slots);
    const Entry& entry =
        static_cast<const Block*>(map.data)[slot / kBlockSlots].entries[slot % kBlockSlots];
    items.push_back(entry.key);
    items.push_back(entry.value);
    slot = entry.after;
  }
  return items;
}

Result<std::span<const gantry_value>> map_items(gantry_object& object) {
  auto& map = reinterpret_cast<MapObject&>(object);
  if (is_small(map)) return std::span(static_cast<const gantry_value*>(map.data), 2 * map.count);
  if (!is_own_map(object)) {
    return unsupported("map has ", map.count,
                       " pairs in blocks of other code, which are read when they are passed on")
        .with_reason("HOST_RESULT");
  }
  GANTRY_TRY(const std::vector<gantry_value> items, copied_map_items(object));
  // Code of tvm-ffi may have changed the map since it was read.
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  const std::uint64_t bytes = items.size() * sizeof(gantry_value);
  const bool is_current = map.view != nullptr && map.view_count == items.size() &&
                          std::memcmp(map.view, items.data(), bytes) == 0;
  if (!is_current) {
    auto* const view = static_cast<gantry_value*>(std::malloc(std::max<std::uint64_t>(bytes, 1)));
    if (view == nullptr) return exhausted("map: no memory for ", ByteCount(bytes));
    std::copy(items.begin(), items.end(), view);
    std::free(std::exchange(map.view, view));
    map.view_count = items.size();
  }
  return std::span<const gantry_value>(map.view, map.view_count);
}

}  // namespace gantry
