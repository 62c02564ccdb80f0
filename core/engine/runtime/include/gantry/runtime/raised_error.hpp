// SPDX-License-Identifier: Apache-2.0
//
// Errors with a kind, as code of tvm-ffi raises them and Python catches them: "ValueError".
#pragma once

#include <gantry/gantry.h>
#include <gantry/result.hpp>

#include <optional>
#include <string_view>

namespace gantry {

// Returns an error that keeps its kind and its text unchanged, also through compiled code.
//
// returns  invalid, reason HOST_CODE; exhausted
Failure raised_error(std::string_view kind, std::string_view text);

struct RaisedError {
  std::string_view kind;
  std::string_view text;
};
// Returns the kind and the text that were raised; nullopt for an error that was not raised, which
// has no kind. The error's own message begins with the text and adds lines of context.
//
// lifetime as long as the error
inline std::optional<RaisedError> raised(const Error& error) {
  gantry_object* const object = error.raised.get();
  if (object == nullptr) return std::nullopt;
  gantry_value value{};
  value.kind = object->kind;
  value.object = object;
  const gantry_error* const what = gantry_value_error(&value);
  if (what == nullptr) return std::nullopt;
  return RaisedError{{what->kind.data, what->kind.size}, {what->message.data, what->message.size}};
}
// The error must outlive the result.
std::optional<RaisedError> raised(const Error&& error) = delete;

}  // namespace gantry
