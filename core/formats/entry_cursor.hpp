// SPDX-License-Identifier: Apache-2.0
//
// Reads the entries of a container in order.
//
//   layout one (G0 to G4)    u64 count
//                            count times   str type_key ; payload         key "_lib" has no payload
//                            G2 and later: the last entry is   str "_import_tree" ; import tree
//
//   layout two (G4x, G5)     import tree                                  n modules
//                            n times       str type_key ; bytes payload   key "_lib" has neither
//                                                                         length nor payload
//
// In layout one a payload has no length. The cursor computes it from the payload layouts of its
// key. It stops at a key without a layout: either the caller supplies the length that the key's
// plugin reports, or the cursor recovers entries as far as possible (lost_payload.hpp).
#pragma once

#include "core/formats/container_layout.hpp"
#include "core/formats/entry.hpp"
#include "core/formats/import_tree.hpp"
#include "core/formats/lost_payload.hpp"
#include "core/formats/payload_layout.hpp"

#include <gantry/byte_reader.hpp>
#include <gantry/result.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

// The content of a container of either layout.
struct Modules {
  // without the tree
  std::vector<Entry> entries;
  // has as many modules as there are entries; absent only in layout one
  std::optional<ImportTree> tree;
  // entries with key `_lib`
  std::uint64_t library_count = 0;
  std::vector<Message> warnings;
};

class EntryCursor {
 public:
  // in       from the end of the length header to the end of the container; its offsets count from
  //          the container's first byte
  // layout   one or two
  // layouts  borrowed
  // tags     see ExporterFacts
  EntryCursor(ByteReader in, ContainerLayout layout, const PayloadLayouts& layouts,
              ArgumentTags tags)
      : in_(in), begin_(in.offset()), layout_(layout), layouts_(&layouts), tags_(tags) {}

  // Reads up to the next payload without a known length, or all entries and the tree.
  //
  // Precondition: the previous payload is accepted.
  //
  // returns  true at such a payload, false at the end; malformed for a count larger than the
  //          container, an invalid key, a payload that exceeds the container or does not match its
  //          layout, and a tree that is invalid, not the last entry, or missing as far as the end
  //          of the container shows
  // costs    O(bytes walked), see PayloadLayouts::measure; the first call that returns true also
  //          O(bytes after the payload)
  Result<bool> next();

  // The entry that next() stopped at. Its payload extends to the end of the container.
  Entry entry() const { return {key_, in_.offset(), in_.rest(), Boundary::unknown}; }
  // Its module index; see Container::entries.
  std::uint64_t module_index() const { return read_ + (tree_ ? 0 : 1); }

  // Sets the length of its payload.
  //
  // returns  malformed, reason BLOB_CONSUMED, if the payload would exceed the container
  Status accept(std::uint64_t size);

  // Reads the rest. If next() stopped at a payload that is not accepted, recovers its length as far
  // as possible.
  //
  // returns  malformed as next(), and for a tree that is missing or does not match the entries
  Result<Modules> finish() &&;

 private:
  Status read_count();
  Status read_sized();
  Status read_tree(std::uint64_t key_at);
  Result<bool> read_measured();
  void search_tree();
  Status check_tree_at_end();
  void recover();
  void set_key(std::string_view key);
  void add(const Entry& entry);
  Failure tree_missing() const;
  // Returns the module index of the entry that is being read, for errors. In a container without a
  // tree, module 0 is the library and the first entry is module 1.
  std::uint64_t index();

  ByteReader in_;
  // offset of the count or, in layout two, of the tree
  std::uint64_t begin_;
  ContainerLayout layout_;
  const PayloadLayouts* layouts_;
  ArgumentTags tags_;

  // number of entries; in layout one including the tree
  std::optional<std::uint64_t> count_;
  // number of entries read
  std::uint64_t read_ = 0;
  // type key of the last entry, and what it determines
  std::string_view key_;
  bool is_library_ = false;
  bool is_tree_ = false;
  std::span<const PayloadLayout> alternatives_;
  Modules modules_;
  // empty payloads in layout two: their number and the first one
  std::uint64_t empty_count_ = 0, first_empty_ = 0;

  // next() stopped at a payload that is not accepted
  bool is_pending_ = false;
  // the tree was searched from the end of the container
  bool is_searched_ = false;
  std::optional<TreeAtEnd> tree_;
};

}  // namespace gantry
