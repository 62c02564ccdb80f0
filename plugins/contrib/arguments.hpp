// SPDX-License-Identifier: Apache-2.0
//
// Arguments that several functions have.
#pragma once

#include "function.hpp"

#include <gantry/cpu_tensor.hpp>
#include <gantry/error_kind.hpp>
#include <gantry/tensor_text.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

namespace gantry::contrib {

// Fails with an error object of a kind: "ValueError".
template <class... Parts>
Failure raise(const Host& host, std::string_view kind, const Parts&... parts) {
  Failure failure = invalid(parts...).with_reason("ARGUMENT");
  set_kind(host, failure.error(), kind);
  return failure;
}

// A shape, or an array of integers.
Result<std::vector<std::int64_t>> dims_at(const Host& host, const Call& call, std::size_t i);

// The elements of an axis are `inner` apart; there are `outer` x `inner` lists.
struct Axis {
  std::int64_t outer = 1, size = 0, inner = 1;
  std::size_t index = 0;

  std::int64_t lists() const { return outer * inner; }
};

// number   [in]   of the axis; negative: from the end
// returns  outer = 0 for a tensor without elements; ValueError: there is no such axis; as
//          tensor_bytes(): the number of elements exceeds 2^63 - 1
Result<Axis> axis_of(const Host& host, const gantry_tensor& tensor, std::int64_t number);

}  // namespace gantry::contrib
