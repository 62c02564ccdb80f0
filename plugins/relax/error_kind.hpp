// SPDX-License-Identifier: Apache-2.0
//
// The kinds of errors that TVM has for the reasons of errors here.
#pragma once

#include "builtin.hpp"

namespace gantry::relax {

struct ReasonKind {
  std::string_view reason, kind;
};
// InternalError for all others.
inline constexpr ReasonKind reason_kinds[] = {{"ARGUMENT_KIND", "TypeError"},
                                              {"ARGUMENT_COUNT", "TypeError"},
                                              {"WEIGHT_KEY", "KeyError"},
                                              {"WEIGHT_SHARD", "ValueError"}};

// Gives a failure without an error object, such as one of Call, the kind of its reason.
inline Result<Value> with_kind(const Host& host, Result<Value> result) {
  if (result.ok() || result.error().raised) return result;
  Error& error = result.error();
  std::string_view kind = "InternalError";
  for (const ReasonKind& row : reason_kinds) {
    if (row.reason == error.reason) kind = row.kind;
  }
  set_kind(host, error, kind);
  return result;
}

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
