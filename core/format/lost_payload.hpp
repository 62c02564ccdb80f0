// SPDX-License-Identifier: Apache-2.0
//
// What can still be found in layout one behind a payload whose length is not known.
//
//   - The tree is found from the end: its key, then two arrays that fill the rest exactly and count
//     one row more than there are modules. That is no guess.
//   - If the payload is the last one, it ends where the tree (or, without one, the container)
//     begins.
//   - Else it probably ends at the one offset from which entries with known keys, exactly as many
//     as are missing, end exactly at the tree. That is a guess: a payload may hold any bytes, also
//     such as look like entries.
//   - Else the rest is one payload of unknown length, and its successors are listed without a key.
#pragma once

#include "core/format/entry.hpp"
#include "core/format/import_tree.hpp"
#include "core/format/payload_layout.hpp"

#include <gantry/byte_reader.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

struct TreeAtEnd {
  // of its key
  std::uint64_t at = 0;
  ImportTree tree;
};

// Searches from the end for the tree of a container.
//
// in       ends where the container ends
// modules  that the tree must have
std::optional<TreeAtEnd> find_tree(const ByteReader& in, std::uint64_t modules);

struct RecoveredEntries {
  // the lost payload's, then those behind it
  std::vector<Entry> entries;
  // how they were found
  std::string warning;
};

// in       from the lost payload's first byte to the tree, or to the end of a container without one
// key      of the lost payload; points into the container
// index    of its entry
// missing  entries behind it, without the tree
// tags     see ExporterFacts
RecoveredEntries recover_entries(const ByteReader& in, std::string_view key, std::uint64_t index,
                                 std::uint64_t missing, const PayloadLayouts& layouts,
                                 ExporterFacts::ArgumentTags tags);

}  // namespace gantry
