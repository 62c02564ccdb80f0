// SPDX-License-Identifier: Apache-2.0
//
// What the two container layouts have in common once they are read.
#pragma once

#include "core/format/entry.hpp"
#include "core/format/import_tree.hpp"
#include "core/format/type_key.hpp"

#include <gantry/byte_reader.hpp>
#include <gantry/concat.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

struct Modules {
  // without the tree
  std::vector<Entry> entries;
  // as many modules as entries; absent only in layout one
  std::optional<ImportTree> tree;
  std::vector<std::string> warnings;
};

// Reads and checks the type key of one entry. Its field is named only where it fails: keys are read
// far more often.
inline Result<std::string_view> read_type_key(ByteReader& in, std::uint64_t entry) {
  const std::uint64_t at = in.offset();
  auto key = in.read_string("type key");
  if (!key.ok()) return in.read_string(concat("type key of entry ", entry).c_str());
  GANTRY_CHECK(check_type_key(*key, at, entry));
  return key;
}

}  // namespace gantry
