// SPDX-License-Identifier: Apache-2.0
//
// Recovers the entries of layout one after a payload of unknown length.
//
//   - The tree is searched from the end: its key, followed by two arrays that fill the rest exactly
//     and have one row more than there are modules. This is not a guess.
//   - If the payload is the last one, it ends at the tree or, without one, at the end of the
//     container.
//   - Otherwise, if there is exactly one offset from which entries with known keys, as many as are
//     missing, extend exactly to the tree, the payload probably ends there. This is a guess: a
//     payload may contain any bytes, including bytes that look like entries.
//   - Otherwise the rest is one payload of unknown length, and the entries that follow it are
//     listed without a key.
#pragma once

#include "core/formats/entry.hpp"
#include "core/formats/import_tree.hpp"
#include "core/formats/payload_layout.hpp"

#include <gantry/byte_reader.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

struct TreeAtEnd {
  // offset of its key
  std::uint64_t at = 0;
  ImportTree tree;
};

// Searches for the tree of a container from its end.
//
// in       ends at the end of the container
// modules  number of modules of the tree
std::optional<TreeAtEnd> find_tree(const ByteReader& in, std::uint64_t modules);

struct RecoveredEntries {
  // the entry with the payload of unknown length, then those that follow it
  std::vector<Entry> entries;
  // states how they were found
  std::string warning;
};

// Recovers the entries from a payload of unknown length to the tree.
//
// in       from the first byte of the payload to the tree, or to the end of a container without one
// key      type key of the payload; points into the container
// index    index of its entry
// missing  number of entries that follow it, without the tree
// tags     see ExporterFacts
RecoveredEntries recover_entries(const ByteReader& in, std::string_view key, std::uint64_t index,
                                 std::uint64_t missing, const PayloadLayouts& layouts,
                                 ArgumentTags tags);

}  // namespace gantry
