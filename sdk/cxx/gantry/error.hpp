// SPDX-License-Identifier: Apache-2.0
//
// gantry/error.hpp - what crosses the ABI as gantry_status: whose fault (code), a stable tag (reason), one sentence
// (subject, found, limit), where in the bytes (offset), and one line of place for each layer it passed.
//
//     return malformed(in.offset(), "import tree has ", count, " row pointers, minimum is 2").with_reason("TREE_SHORT");
#pragma once

#include <gantry/status.h>
#include <gantry/concat.hpp>

#include <cassert>
#include <cstdarg>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

namespace gantry {

// Whose fault, and so what the caller may do: see gantry/status.h for each.
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
};

// The name of a code as people write it: "malformed".
constexpr std::string_view name_of(Code code) {
  constexpr std::string_view names[] = {"ok",          "malformed", "unsupported",
                                        "unavailable", "exhausted", "invalid",
                                        "not found",   "cancelled", "bug"};
  const auto index = static_cast<std::size_t>(code);
  return index < std::size(names) ? names[index] : "unknown code";
}

constexpr std::uint64_t no_offset = UINT64_MAX;

struct Error {
  Code code = Code::bug;
  // one sentence, present tense, no full stop; then lines of place
  std::string message;
  // into the bytes that the message is about
  std::uint64_t offset = no_offset;
  // stable tag for machines: "BLOB_TRUNCATED"; empty: the code says it all
  std::string reason;
  // the driver's or the system's own number
  std::int64_t native_code = 0;
  // "errno", "CUDA", "OPENCL"; empty: none
  std::string native_domain;

  // Out of line: they stand at every return of a function that can fail.
  [[gnu::noinline]] Error() noexcept {}
  [[gnu::noinline]] Error(Code whose, std::string text, std::uint64_t where = no_offset) noexcept
      : code(whose), message(std::move(text)), offset(where) {}
  [[gnu::noinline]] Error(const Error& other) = default;
  [[gnu::noinline]] Error(Error&& other) noexcept = default;
  [[gnu::noinline]] Error& operator=(const Error& other) = default;
  [[gnu::noinline]] Error& operator=(Error&& other) noexcept = default;
  [[gnu::noinline]] ~Error() {}

  // Adds one line of place, outermost last: .at("while reading entry 2 \"cuda\" of model.so").
  template <class... Parts>
  Error& at(const Parts&... parts) & {
    message += concat("\n  ", parts...);
    return *this;
  }
  template <class... Parts>
  Error&& at(const Parts&... parts) && {
    return std::move(at(parts...));
  }
  [[gnu::noinline]] Error&& with_reason(std::string_view tag) && {
    reason = tag;
    return std::move(*this);
  }
  [[gnu::noinline]] Error&& native(std::string_view domain, std::int64_t number) && {
    native_domain = domain;
    native_code = number;
    return std::move(*this);
  }
};

}  // namespace gantry
