// SPDX-License-Identifier: Apache-2.0
//
// Map objects in the layout of tvm-ffi, which code with its C++ headers reads and changes in place.
//
//     MapObject = gantry_object | data | count | slots | delete_data | shift | first | last | view
//
//     at most 4 pairs   slots has the small tag, and data are count pairs in their order
//     more              data are blocks of 16 slots: 16 bytes that state what each slot is, then 16
//                       entries. A key's hash names a slot; keys of one slot are a chain whose head
//                       is there. Entries also form a list in the order of the pairs
//
// Maps that such code creates have the same layout, and another deleter.
//
// source   apache/tvm-ffi include/tvm/ffi/container/map_base.h
#pragma once

#include "core/engine/tensor/object.hpp"

#include <gantry/value.h>
#include <gantry/result.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace gantry {

// GANTRY_MAP and tvm-ffi's Dict. Only objects of new_map() have the members from `view` on.
struct MapObject {
  gantry_object header;
  void* data;
  std::uint64_t count;
  // with kSmallMap: of pairs
  std::uint64_t slots;
  // NULL: data are in the allocation of the object
  void (*delete_data)(void* data);
  std::uint32_t shift;
  std::uint32_t zero;
  std::uint64_t first;
  std::uint64_t last;
  // Copies of the pairs in blocks, made when they are first read: key, value, key, value.
  gantry_value* view;
  std::uint64_t view_count;
};
constexpr std::uint64_t kSmallMap = std::uint64_t{1} << 63;
constexpr std::uint64_t kMaxSmallPairs = 4;

// Creates a map of a key, a value, a key, a value. Of equal keys, the first determines the place and the
// last the value.
//
// items    [in]   owned by the map on success
// returns  unsupported  keys with hashes that collide, so that time and memory had no limit; exhausted
// costs    O(items)
Result<ObjectPtr> new_map(std::span<const gantry_value> items);

// True for a map of new_map().
bool is_own_map(const gantry_object& object);

// Returns keys and values of a map, in its order.
//
// returns  unsupported  a map in blocks that other code has created (HOST_RESULT): copied_map_items()
//                       reads it; malformed: the list of entries leaves the blocks
// lifetime as long as the map, and nobody changes it
// thread   any
Result<std::span<const gantry_value>> map_items(gantry_object& map);

// Returns a copy of keys and values, of any map or dict: borrowed.
//
// returns  malformed, as map_items(); exhausted
Result<std::vector<gantry_value>> copied_map_items(const gantry_object& map);

// True for keys that are equal as code of tvm-ffi compares them: texts, bytes and numbers by content, other
// objects by identity.
bool same_key(const gantry_value& a, const gantry_value& b);
// The hash of a key, by which code of tvm-ffi finds it.
std::uint64_t map_hash(const gantry_value& key);

}  // namespace gantry
