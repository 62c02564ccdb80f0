// SPDX-License-Identifier: Apache-2.0
//
// What the two container layouts have in common once they are read.
#pragma once

#include "core/blob/entry.hpp"
#include "core/blob/import_tree.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

inline constexpr std::string_view tree_key = "_import_tree";

struct Modules {
  std::vector<Entry> entries;      // without the tree
  std::optional<ImportTree> tree;  // as many modules as entries; absent only in layout one
  std::vector<std::string> warnings;
};

}  // namespace gantry
