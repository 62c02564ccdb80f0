// SPDX-License-Identifier: Apache-2.0
//
// Sorts records of a key and the number of an element. No two records are equal, so that each way to
// sort them keeps the order of equal elements.
#pragma once

#include "threads.hpp"

#include <gantry/handle.hpp>
#include <gantry/result.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace gantry::contrib {

// A key of at most 32 bits in a list of at most 2^32 elements.
class NarrowRecord {
 public:
  static constexpr int digits = 4;
  static constexpr std::int64_t max_size = std::int64_t{1} << 32;

  NarrowRecord(std::uint64_t key, std::int64_t index)
      : both_(key << 32 | static_cast<std::uint64_t>(index)) {}
  std::uint64_t key() const { return both_ >> 32; }
  std::int64_t index() const { return static_cast<std::int64_t>(both_ & 0xffffffff); }
  unsigned digit(int i) const { return both_ >> (32 + 8 * i) & 0xff; }
  friend bool operator<(NarrowRecord a, NarrowRecord b) { return a.both_ < b.both_; }

 private:
  std::uint64_t both_;
};

class WideRecord {
 public:
  static constexpr int digits = 8;

  WideRecord(std::uint64_t key, std::int64_t index) : key_(key), index_(index) {}
  std::uint64_t key() const { return key_; }
  std::int64_t index() const { return index_; }
  unsigned digit(int i) const { return key_ >> (8 * i) & 0xff; }
  friend bool operator<(const WideRecord& a, const WideRecord& b) {
    return a.key_ != b.key_ ? a.key_ < b.key_ : a.index_ < b.index_;
  }

 private:
  std::uint64_t key_;
  std::int64_t index_;
};

// The keys of a list in the order of their elements.
struct KeySummary {
  bool is_ascending = true;
  // each is less than the one before
  bool is_descending = true;
  // bits that are 1 in some key, and in all keys
  std::uint64_t any = 0, all = UINT64_MAX;

  void add(const KeySummary& other) {
    is_ascending &= other.is_ascending;
    is_descending &= other.is_descending;
    any |= other.any;
    all &= other.all;
  }
};

// Makes the records of a list.
//
// keys     [in]   keys(i) is the key of element i
// records  [out]  of as many elements
template <class Record, class Keys>
Result<KeySummary> make_records(const Work& work, const Keys& keys, Record* records,
                                std::int64_t size) {
  std::vector<KeySummary> parts(static_cast<std::size_t>(work.pieces));
  GANTRY_CHECK(work.in_pieces(size, [&](Piece piece, std::int64_t number) {
    KeySummary part;
    std::uint64_t before = keys(std::max<std::int64_t>(piece.begin - 1, 0));
    // The first element of a list follows none.
    const bool is_first = piece.begin == 0;
    if (is_first && piece.begin < piece.end) {
      records[0] = Record(before, 0);
      part.any |= before;
      part.all &= before;
      ++piece.begin;
    }
    const Status made = work.for_each(piece, [&](std::int64_t i) {
      const std::uint64_t key = keys(i);
      records[i] = Record(key, i);
      part.is_ascending &= before <= key;
      part.is_descending &= before > key;
      part.any |= key;
      part.all &= key;
      before = key;
    });
    parts[static_cast<std::size_t>(number)] = part;
    return made;
  }));
  KeySummary whole;
  for (const KeySummary& part : parts) whole.add(part);
  return whole;
}

namespace detail {

using DigitCounts = std::array<std::int64_t, 256>;

// Moves records from one array to another, sorted by one digit. Those with the same digit stay in order.
//
// digit    [in]   unsigned(const Record&), below 256
template <class Record, class Digit>
Status sort_by_digit(const Work& work, const Digit& digit, std::span<const Record> from, Record* to,
                     std::vector<DigitCounts>& counts) {
  const auto size = static_cast<std::int64_t>(from.size());
  const Record* const records = from.data();
  GANTRY_CHECK(work.in_pieces(size, [&](Piece piece, std::int64_t number) {
    DigitCounts found{};
    const Status counted =
        work.for_each(piece, [&](std::int64_t i) { ++found[digit(records[i])]; });
    counts[static_cast<std::size_t>(number)] = found;
    return counted;
  }));
  std::int64_t next = 0;
  for (std::size_t value = 0; value < 256; ++value) {
    for (DigitCounts& part : counts) next += std::exchange(part[value], next);
  }
  return work.in_pieces(size, [&](Piece piece, std::int64_t number) {
    DigitCounts places = counts[static_cast<std::size_t>(number)];
    return work.for_each(piece,
                         [&](std::int64_t i) { to[places[digit(records[i])]++] = records[i]; });
  });
}

}  // namespace detail

// Below it, comparing records is faster than counting digits.
inline constexpr std::size_t small_list = 96;

// Sorts records, by the digits of their keys.
//
// summary  [in]   as make_records() returns it
// max_index
//          [in]   the largest number of an element if the records are in any order; 0: they are in the
//                 order of their elements
// buffer   [in]   of as many records
// returns  the sorted records: those of `records` or of `buffer`
template <class Record>
Result<std::span<Record>> sort_records(const Work& work, const KeySummary& summary,
                                       std::int64_t max_index, std::span<Record> records,
                                       std::span<Record> buffer) {
  if (summary.is_ascending) return records;
  if (summary.is_descending) {
    std::ranges::reverse(records);
    return records;
  }
  if (records.size() <= small_list) {
    std::sort(records.begin(), records.end());
    return records;
  }
  std::vector<detail::DigitCounts> counts(static_cast<std::size_t>(work.pieces));
  const auto sort_by = [&](const auto& digit) -> Status {
    GANTRY_CHECK(detail::sort_by_digit<Record>(work, digit, records, buffer.data(), counts));
    std::swap(records, buffer);
    return {};
  };
  for (int at = 0; at < 64 && max_index >> at != 0; at += 8) {
    GANTRY_CHECK(sort_by(
        [at](const Record& record) { return static_cast<unsigned>(record.index() >> at & 0xff); }));
  }
  for (int digit = 0; digit < Record::digits; ++digit) {
    if (((summary.any ^ summary.all) >> (8 * digit) & 0xff) == 0) continue;
    GANTRY_CHECK(sort_by([digit](const Record& record) { return record.digit(digit); }));
  }
  return records;
}

// Elements that first_records() compares with one bound at a time.
inline constexpr std::int64_t key_block = 64;

// Returns the `count` first records of a list in any order, without making all.
//
// keys     [in]   also: keys.may_have(i, bound) is true if one of the `key_block` elements from element i
//                 on has a key of at most `bound`
// size     [in]   of the list, larger than count
// chosen   [in]   memory for more than `count` records, twice as many for speed
template <class Record, class Keys>
Result<std::span<Record>> first_records(const Work& work, const Keys& keys, std::int64_t size,
                                        std::int64_t count, std::span<Record> chosen) {
  const auto wanted = static_cast<std::size_t>(count);
  std::size_t held = 0;
  // Larger keys are not among the first: there are enough records with keys up to it.
  std::uint64_t bound = UINT64_MAX;
  // All that are left have keys above those of the records that are held.
  bool is_complete = false;
  const auto drop_others = [&] {
    const auto last = chosen.begin() + static_cast<std::ptrdiff_t>(wanted - 1);
    std::nth_element(chosen.begin(), last, chosen.begin() + static_cast<std::ptrdiff_t>(held));
    held = wanted;
    return last->key();
  };
  const auto add = [&](std::int64_t i) {
    const std::uint64_t key = keys(i);
    if (key > bound || is_complete) return;
    chosen[held++] = Record(key, i);
    if (held != chosen.size()) return;
    // Of equal keys those with smaller numbers are held.
    const std::uint64_t last = drop_others();
    is_complete = last == 0;
    bound = is_complete ? 0 : last - 1;
  };
  // Some of the elements, from the whole list, give the first bound: in a list that is sorted the
  // other way each element would be among the first until then. Numbers are not compared, so elements
  // with an equal key may come first.
  const std::int64_t step = size / std::max<std::int64_t>(count, size / key_block);
  if (step > 1) {
    GANTRY_CHECK(work.for_each({0, (size - 1) / step + 1}, [&](std::int64_t i) { add(i * step); }));
    bound = drop_others();
    held = 0;
    is_complete = false;
  }
  const std::int64_t blocks = size / key_block;
  // about a millisecond
  constexpr std::int64_t blocks_per_look = 1 << 14;
  GANTRY_CHECK(work.for_each(
      {0, blocks},
      [&](std::int64_t block) {
        const std::int64_t first = block * key_block;
        if (!keys.may_have(first, bound)) return;
        for (std::int64_t i = first; i < first + key_block; ++i) add(i);
      },
      blocks_per_look));
  for (std::int64_t i = blocks * key_block; i < size; ++i) add(i);
  if (held > wanted) drop_others();
  return chosen.first(wanted);
}

}  // namespace gantry::contrib
