// SPDX-License-Identifier: Apache-2.0
//
// gantry/error.hpp - the C++ form of gantry_status: a code that classifies the error, a stable tag
// (reason), one sentence (subject, found, limit), an offset into the bytes that it is about, and
// one line of context for each layer that has added one. failure.hpp creates errors.
#pragma once

#include <gantry/status.h>
#include <gantry/message.hpp>
#include <gantry/object_ref.hpp>

#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

namespace gantry {

// The codes of gantry/status.h, which describes the cause of each and what the caller may do.
enum class Code : gantry_code {
  ok = GANTRY_OK,
  malformed = GANTRY_MALFORMED,
  unsupported = GANTRY_UNSUPPORTED,
  unavailable = GANTRY_UNAVAILABLE,
  exhausted = GANTRY_EXHAUSTED,
  invalid = GANTRY_INVALID,
  not_found = GANTRY_NOT_FOUND,
  cancelled = GANTRY_CANCELLED,
  bug = GANTRY_BUG,
  lost = GANTRY_LOST,
};

// True for the codes of a failure; others are not part of the ABI.
constexpr bool is_failure_code(gantry_code code) { return code > GANTRY_OK && code <= GANTRY_LOST; }

// Returns the name of a code for messages: "malformed".
constexpr std::string_view name_of(Code code) {
  constexpr std::string_view names[] = {"ok",        "malformed", "unsupported", "unavailable",
                                        "exhausted", "invalid",   "not found",   "cancelled",
                                        "bug",       "lost"};
  const auto index = static_cast<std::size_t>(code);
  return index < std::size(names) ? names[index] : "unknown code";
}

constexpr std::uint64_t no_offset = UINT64_MAX;

struct Error {
  Code code = Code::bug;
  // One sentence in the present tense without a full stop, then lines of context.
  Message message;
  // Offset into the bytes that the message is about.
  std::uint64_t offset = no_offset;
  // A stable tag for programs: "BLOB_TRUNCATED". May be empty.
  std::string reason;
  // Error number of the driver or the system.
  std::int64_t native_code = 0;
  // Origin of native_code: "errno", "CUDA", "OPENCL". Empty: no native code.
  std::string native_domain;
  // The error object, if the error was raised as one. Usually empty.
  ObjectRef raised;

  Error() = default;
  Error(Code kind, Message text, std::uint64_t where = no_offset) noexcept
      : code(kind), message(std::move(text)), offset(where) {}

  // Adds one line of context, outermost last: .at("while reading entry 2 \"cuda\" of model.so")
  template <class... Parts>
  Error& at(const Parts&... parts) & {
    message.at(parts...);
    return *this;
  }
  template <class... Parts>
  Error&& at(const Parts&... parts) && {
    return std::move(at(parts...));
  }
  Error&& with_reason(std::string_view tag) && {
    reason = tag;
    return std::move(*this);
  }
  Error&& native(std::string_view domain, std::int64_t number) && {
    native_domain = domain;
    native_code = number;
    return std::move(*this);
  }
};

}  // namespace gantry
