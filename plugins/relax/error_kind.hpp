// SPDX-License-Identifier: Apache-2.0
//
// Rows whose failures have the kinds that TVM has for their reasons.
#pragma once

#include "builtin.hpp"

#include <gantry/error_kind.hpp>

namespace gantry::relax {

// Calls a function of a row and gives its failure a kind.
template <auto function>
Result<Value> with_kind(const Host& host, const Call& call) {
  return with_kind(host, function(host, call));
}
template <auto function>
Result<Value> with_kind_counted(const Host& host, const Call& call,
                                const std::shared_ptr<StorageMemory>& memory) {
  return with_kind(host, function(host, call, memory));
}

}  // namespace gantry::relax
