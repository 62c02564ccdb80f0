// SPDX-License-Identifier: Apache-2.0
//
// The type key in front of each entry: which names have a meaning of their own, and what a key may
// be.
#pragma once

#include <gantry/byte_reader.hpp>
#include <gantry/result.hpp>

#include <cstdint>
#include <string_view>

namespace gantry {

// Host code. It has no payload: the library that holds the container is the module.
inline constexpr std::string_view library_key = "_lib";
// The import tree, in layout one.
inline constexpr std::string_view tree_key = "_import_tree";

// True for 1 to 256 printable ASCII characters.
bool is_type_key(std::string_view key);
// The same as a refusal, reason BLOB_KEY.
//
// offset   of the key's length
// entry    index, for the message
Status check_type_key(std::string_view key, std::uint64_t offset, std::uint64_t entry);

}  // namespace gantry
