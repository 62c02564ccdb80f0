// SPDX-License-Identifier: Apache-2.0
//
// The entries of `globals` in a manifest. A name of each in braces costs a parser of YAML much less
// than an entry of each.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

// Returns the names that an entry states: a name, the beginning of names and *, or names that begin
// alike, "vm.builtin.{alloc_storage, alloc_tensor}", at most 256 of at most 256 bytes; nullopt for
// any other text.
std::optional<std::vector<std::string>> names_of_global(std::string_view entry);

}  // namespace gantry
