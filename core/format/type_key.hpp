// SPDX-License-Identifier: Apache-2.0
//
// The type key at the start of each entry: the reserved keys and the rules for keys.
#pragma once

#include <gantry/byte_reader.hpp>
#include <gantry/result.hpp>

#include <cstdint>
#include <string_view>

namespace gantry {

// Host code. Its entry has no payload: the module is the library that contains the container.
inline constexpr std::string_view library_key = "_lib";
// The import tree in layout one.
inline constexpr std::string_view tree_key = "_import_tree";

// True for 1 to 256 printable ASCII characters.
bool is_type_key(std::string_view key);
// Returns the error of a text for which is_type_key() is false: malformed, reason BLOB_KEY.
//
// offset   offset of the key's length
// entry    index of the entry
Failure type_key_error(std::string_view key, std::uint64_t offset, std::uint64_t entry);

}  // namespace gantry
