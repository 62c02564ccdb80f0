// SPDX-License-Identifier: Apache-2.0
//
// The kinds of errors of the KV cache's functions.
#pragma once

#include "plugins/relax/builtin.hpp"

namespace gantry::relax {

// Calls a function of a row. A failure without an error object, such as one of Call or KvSequences,
// receives the kind that TVM has for it: TypeError for an argument of another type or an argument
// too many, else InternalError.
template <auto function>
Result<Value> with_kind(const Host& host, const Call& call) {
  Result<Value> result = function(host, call);
  if (result.ok() || result.error().raised) return result;
  Error& error = result.error();
  const bool is_type = error.reason == "ARGUMENT_KIND" || error.reason == "ARGUMENT_COUNT";
  set_kind(host, error, is_type ? "TypeError" : "InternalError");
  return result;
}

}  // namespace gantry::relax
