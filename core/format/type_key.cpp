// SPDX-License-Identifier: Apache-2.0
#include "core/format/type_key.hpp"

#include "core/format/limits.hpp"

#include <gantry/quoted.hpp>

#include <algorithm>

namespace gantry {

bool is_type_key(std::string_view key) {
  return !key.empty() && key.size() <= limits::type_key_bytes &&
         std::all_of(key.begin(), key.end(), [](char c) { return c >= 0x20 && c <= 0x7e; });
}

Failure type_key_error(std::string_view key, std::uint64_t offset, std::uint64_t entry) {
  const auto refusal = [&](const auto&... parts) {
    return malformed(offset, "type key of entry ", entry, parts...).with_reason("BLOB_KEY");
  };
  if (key.empty()) return refusal(" is empty: the entry before it does not end here");
  if (key.size() > limits::type_key_bytes) {
    return refusal(" has ", key.size(), " bytes, maximum is ", limits::type_key_bytes);
  }
  return refusal(" is ", quoted(key), ", expected printable ASCII");
}

}  // namespace gantry
