// SPDX-License-Identifier: Apache-2.0
//
// The entries of `globals` in a manifest. A name of each in braces costs a parser of YAML much less
// than an entry of each.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gantry {

// Reads an entry: a name, the beginning of names and *, or names that begin alike,
// "vm.builtin.{alloc_storage, alloc_tensor}", at most 256 of at most 256 bytes.
//
// names    [out]  where the names are added; NULL: the entry is only checked
// returns  false for any other text; then `names` may have some of its names
bool read_global(std::string_view entry, std::vector<std::string>* names);

}  // namespace gantry
