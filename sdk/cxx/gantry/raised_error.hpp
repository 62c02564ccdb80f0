// SPDX-License-Identifier: Apache-2.0
//
// gantry/raised_error.hpp - errors with a kind, as code of tvm-ffi raises them and Python catches
// them: "ValueError".
#pragma once

#include <gantry/handle.hpp>
#include <gantry/result.hpp>

#include <optional>
#include <string_view>
#include <utility>

namespace gantry {

// Returns an error that keeps its kind and its text unchanged, also through compiled code.
//
// returns  INVALID, reason HOST_CODE; without an error object if memory is exhausted
inline Failure raised_error(const Host& host, std::string_view kind, std::string_view text) {
  Error error = invalid(Message::lines(text.empty() ? "an error without a text" : text))
                    .with_reason("HOST_CODE");
  if (const auto object = host.error(kind, text); object.ok())
    error.raised = ObjectRef::share(object->object());
  return Failure(std::move(error));
}

struct RaisedError {
  std::string_view kind;
  std::string_view text;
  // lines, the most recent call first; empty: not known
  std::string_view backtrace;
};
// Returns what an error object states; nullopt for NULL and for another object.
//
// lifetime as long as the object
inline std::optional<RaisedError> raised_in(gantry_object* object) {
  if (object == nullptr) return std::nullopt;
  gantry_value value{};
  value.kind = object->kind;
  value.object = object;
  const gantry_error* const what = gantry_value_error(&value);
  if (what == nullptr) return std::nullopt;
  return RaisedError{view_of(what->kind), view_of(what->message), view_of(what->backtrace)};
}
// Returns the kind, the text and the backtrace that were raised; nullopt for an error that was not raised, which
// has no kind. The error's own message begins with the text and adds lines of context.
//
// lifetime as long as the error
inline std::optional<RaisedError> raised(const Error& error) {
  return raised_in(error.raised.get());
}
// The error must outlive the result.
std::optional<RaisedError> raised(const Error&& error) = delete;

}  // namespace gantry
