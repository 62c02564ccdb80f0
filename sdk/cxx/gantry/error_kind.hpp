// SPDX-License-Identifier: Apache-2.0
//
// gantry/error_kind.hpp - the kinds of exceptions that compiled code and Python see for the errors of
// functions that a plugin offers by name: TypeError for an argument of another kind.
#pragma once

#include <gantry/handle.hpp>
#include <gantry/result.hpp>

#include <string_view>
#include <utility>

namespace gantry {

// Adds an error object of a kind, as code of TVM has: "ValueError", "RuntimeError". Without memory the
// error stays as it is.
inline void set_kind(const Host& host, Error& error, std::string_view kind) {
  if (auto object = host.error(kind, error.message.text()); object.ok())
    error.raised = ObjectRef::adopt(object->take().object);
}

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

}  // namespace gantry
