// SPDX-License-Identifier: Apache-2.0
//
// The entries of a container, one after the other.
//
//   layout one (G0 to G4)    u64 count
//                            count times   str type_key ; payload         key "_lib" has no payload
//                            G2 and later: the last entry is   str "_import_tree" ; import tree
//
//   layout two (G4x, G5)     import tree                                  n modules
//                            n times       str type_key ; bytes payload   key "_lib" has neither
//                                                                         length nor payload
//
// In layout one a payload carries no length. The cursor takes it from the payload layouts of its
// key. At a key without a layout it stops: the caller accepts as many bytes as the key's plugin
// reports, or the cursor recovers what it can (lost_payload.hpp).
#pragma once

#include "core/format/container_layout.hpp"
#include "core/format/entry.hpp"
#include "core/format/import_tree.hpp"
#include "core/format/lost_payload.hpp"
#include "core/format/payload_layout.hpp"

#include <gantry/byte_reader.hpp>
#include <gantry/result.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

// What both layouts hold.
struct Modules {
  // without the tree
  std::vector<Entry> entries;
  // as many modules as entries; absent only in layout one
  std::optional<ImportTree> tree;
  // entries with key `_lib`
  std::uint64_t library_count = 0;
  std::vector<std::string> warnings;
};

class EntryCursor {
 public:
  // in       behind the length header; ends where the container ends; its offsets are the
  //          container's
  // layout   one or two
  // layouts  borrowed
  // tags     see ExporterFacts
  EntryCursor(ByteReader in, ContainerLayout layout, const PayloadLayouts& layouts,
              ExporterFacts::ArgumentTags tags)
      : in_(in), begin_(in.offset()), layout_(layout), layouts_(&layouts), tags_(tags) {}

  // Reads up to the next payload without a known length, or all entries and the tree.
  //
  // returns  false at the end
  //          malformed: a count larger than the container, a bad key, a payload that leaves the
  //          container or breaks its layout; a tree that is not safe, not the last entry or, as far
  //          as the container's end shows, missing
  // costs    O(bytes walked), see PayloadLayouts::measure; the first time that it returns true,
  //          O(bytes behind the payload)
  // Precondition: the payload before it is accepted.
  Result<bool> next();

  // The entry that next() stopped at. Its payload reaches to the container's end.
  Entry entry() const { return {key_, in_.offset(), in_.rest(), Boundary::unknown}; }
  // As a module of the container; see Container::entries.
  std::uint64_t module_index() const { return read_ + (tree_ ? 0 : 1); }

  // Makes its payload that long.
  //
  // returns  malformed, reason BLOB_CONSUMED, where it would leave the container
  Status accept(std::uint64_t size);

  // Reads the rest. A payload that next() stopped at is lost.
  //
  // returns  malformed: as next(); a tree that is missing or does not fit the entries
  Result<Modules> finish() &&;

 private:
  Status read_count();
  Status read_sized();
  Status read_tree(std::uint64_t key_at);
  Result<bool> read_measured();
  Status find_tree_at_end();
  void recover();
  void add(const Entry& entry);
  Failure tree_missing() const;

  ByteReader in_;
  // offset of the count or, in layout two, of the tree
  std::uint64_t begin_;
  ContainerLayout layout_;
  const PayloadLayouts* layouts_;
  ExporterFacts::ArgumentTags tags_;

  // entries as the container counts them, in layout one with the tree
  std::optional<std::uint64_t> count_;
  // entries read
  std::uint64_t read_ = 0;
  // of the last entry
  std::string_view key_;
  // the key that was measured last, and its alternatives
  std::string_view measured_key_;
  std::span<const PayloadLayout> alternatives_;
  Modules modules_;
  // payloads of layout two without a byte
  std::uint64_t empty_count_ = 0, first_empty_ = 0;

  // next() stopped at a payload
  bool is_pending_ = false;
  // the tree was searched from the end
  bool is_searched_ = false;
  std::optional<TreeAtEnd> tree_;
};

}  // namespace gantry
