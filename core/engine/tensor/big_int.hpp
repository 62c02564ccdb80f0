// SPDX-License-Identifier: Apache-2.0
//
// Integers of more than 64 bits, in the layout of tvm-ffi: words, the least significant first, in two's complement.
//
//     BigIntObject = gantry_object | count | words
//
// source   apache/tvm-ffi include/tvm/ffi/container/big_int.h
#pragma once

#include <gantry/object.h>
#include <gantry/value.h>

#include <cstdint>
#include <span>

namespace gantry {

constexpr std::int32_t kBigInt = 78;

struct BigIntObject {
  gantry_object header;
  std::uint64_t count;
  // followed by the words
};

// Precondition: the value is of kind kBigInt.
inline std::span<const std::uint64_t> words_of(const gantry_value& value) {
  const auto* const object = reinterpret_cast<const BigIntObject*>(value.object);
  return {reinterpret_cast<const std::uint64_t*>(object + 1), object->count};
}

// Equal numbers have equal hashes, whatever object they are in.
inline std::uint64_t hash_of_words(std::span<const std::uint64_t> words) {
  std::uint64_t hash = words.size();
  for (const std::uint64_t word : words) hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
  return hash;
}

}  // namespace gantry
