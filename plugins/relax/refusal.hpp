// SPDX-License-Identifier: Apache-2.0
//
// Errors about the bytes of an executable.
#pragma once

#include <gantry/quoted.hpp>
#include <gantry/result.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

namespace gantry::relax {

template <class... Parts>
Failure refuse(std::uint64_t at, const Parts&... parts) {
  return malformed(at, parts...).with_reason("BLOB_FORMAT");
}

// Adds a line of context with index and name of a function.
inline Error in_function(Error error, std::size_t index, std::string_view name) {
  return std::move(error).at("in function ", index, " ", quoted(name));
}

}  // namespace gantry::relax
