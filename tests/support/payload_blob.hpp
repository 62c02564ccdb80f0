// SPDX-License-Identifier: Apache-2.0
//
// A payload in memory, passed to a reader as the host and loader.hpp pass it.
#pragma once

#include "tests/support/generation.hpp"

#include <gantry/blob.hpp>

#include <cstdint>
#include <span>

namespace gantry::test {

// generation   of the container, which decides on argument tags; -1: unknown
// is_exact     the payload is all of the bytes
inline gantry_blob payload_blob(std::span<const std::uint8_t> bytes, std::int32_t generation = 3,
                                bool is_exact = true, gantry_object* pin = nullptr) {
  gantry_blob blob{};
  blob.struct_size = sizeof blob;
  blob.flags = is_exact ? GANTRY_BLOB_EXACT : 0;
  blob.data = bytes.data();
  blob.size = bytes.size();
  blob.argument_tags = argument_tags_of_generation(generation);
  blob.pin = pin;
  return blob;
}

// Reads a payload as a loader does: bytes that are left are an error where the blob is exact.
//
// read      [in]   Result<T> read(Blob&)
// consumed  [out]  bytes that were read; untouched after a failure; may be NULL
template <class Read>
auto read_whole(const gantry_blob& raw, Read&& read, std::uint64_t* consumed = nullptr)
    -> decltype(read(std::declval<Blob&>())) {
  Blob blob(raw);
  auto payload = read(blob);
  if (!payload.ok()) return payload;
  GANTRY_CHECK(blob.check_end(blob.reader()));
  if (consumed != nullptr) *consumed = blob.reader().offset();
  return payload;
}

}  // namespace gantry::test
