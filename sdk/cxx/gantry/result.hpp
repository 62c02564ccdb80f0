// SPDX-License-Identifier: Apache-2.0
//
// gantry/result.hpp - a value or an error, never both, never neither.
//
//     Result<ImportTree> parse(ByteReader& in) {
//       GANTRY_TRY(const std::uint64_t count, in.read_u64("row count"));      // returns the error, or goes on
//       if (count < 2) return malformed(in.offset(), "import tree has ", count, " row pointers, fewest is 2");
//       ...
//     }
//
// An Error is what crosses the ABI as gantry_status: whose fault (code), a stable tag (reason), one sentence
// (subject, found, limit), where in the bytes (offset), and one line of place for each layer it passed.
#pragma once

#include <gantry/status.h>

#include <cassert>
#include <charconv>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

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

// A number as 0x1c40: offsets and addresses are printed so, counts and sizes in decimal.
struct Hex {
  std::uint64_t value;
};

namespace detail {
template <class T>
void append(std::string& to, const T& part) {
  if constexpr (std::is_same_v<T, Hex>) {
    char digits[16];
    const auto end = std::to_chars(digits, digits + sizeof digits, part.value, 16).ptr;
    to.append("0x").append(digits, end);
  } else if constexpr (std::is_same_v<T, char>) {
    to.push_back(part);
  } else if constexpr (std::is_same_v<T, bool>) {
    to.append(part ? "true" : "false");
  } else if constexpr (std::is_arithmetic_v<T>) {
    char digits[40];
    const auto end = std::to_chars(digits, digits + sizeof digits, part).ptr;
    to.append(digits, end);
  } else {
    to.append(std::string_view(part));
  }
}
}  // namespace detail

// Joins words and numbers: concat("edge ", 3, " names module ", 4).
template <class... Parts>
std::string concat(const Parts&... parts) {
  std::string text;
  (detail::append(text, parts), ...);
  return text;
}

struct Error {
  Code code = Code::bug;
  std::string message;  // one sentence, present tense, no full stop; then lines of place
  std::uint64_t offset = no_offset;  // into the bytes that the message is about
  std::string reason;  // stable tag for machines: "BLOB_TRUNCATED"; empty: the code says it all
  std::int64_t native_code = 0;  // the driver's or the system's own number
  std::string native_domain;     // "errno", "CUDA", "OPENCL"; empty: none

  // Adds one line of place, outermost last: .at("while reading entry 2 \"cuda\" of model.so").
  template <class... Parts>
  Error& at(const Parts&... parts) & {
    message.append("\n  ");
    (detail::append(message, parts), ...);
    return *this;
  }
  template <class... Parts>
  Error&& at(const Parts&... parts) && {
    return std::move(at(parts...));
  }
  Error&& because(std::string_view tag) && {
    reason = tag;
    return std::move(*this);
  }
  Error&& native(std::string_view domain, std::int64_t number) && {
    native_domain = domain;
    native_code = number;
    return std::move(*this);
  }
};

// One function for each code but ok. Only malformed() is about bytes, so only it takes an offset first.
template <class... Parts>
Error malformed(std::uint64_t offset, const Parts&... parts) {
  return {Code::malformed, concat(parts...), offset, {}, 0, {}};
}
template <class... Parts>
Error fail(Code code, const Parts&... parts) {
  assert(code != Code::ok);
  return {code, concat(parts...), no_offset, {}, 0, {}};
}
template <class... Parts>
Error unsupported(const Parts&... parts) {
  return fail(Code::unsupported, parts...);
}
template <class... Parts>
Error unavailable(const Parts&... parts) {
  return fail(Code::unavailable, parts...);
}
template <class... Parts>
Error exhausted(const Parts&... parts) {
  return fail(Code::exhausted, parts...);
}
template <class... Parts>
Error invalid(const Parts&... parts) {
  return fail(Code::invalid, parts...);
}
template <class... Parts>
Error not_found(const Parts&... parts) {
  return fail(Code::not_found, parts...);
}
template <class... Parts>
Error bug(const Parts&... parts) {
  return fail(Code::bug, parts...);
}

template <class T = void>
class [[nodiscard]] Result {
 public:
  using value_type = T;

  Result(T value)
      : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT: implicit by design
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}
  template <class U>
  requires(std::convertible_to<U&&, T> && !std::same_as<std::remove_cvref_t<U>, T> &&
           !std::same_as<std::remove_cvref_t<U>, Error> &&
           !std::same_as<std::remove_cvref_t<U>, Result>) Result(U&& value)
      : state_(std::in_place_index<0>, std::forward<U>(value)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  // Precondition: ok().
  T& value() & {
    assert(ok());
    return *std::get_if<0>(&state_);
  }
  const T& value() const& {
    assert(ok());
    return *std::get_if<0>(&state_);
  }
  T&& value() && {
    assert(ok());
    return std::move(*std::get_if<0>(&state_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  // Precondition: !ok().
  Error& error() & {
    assert(!ok());
    return *std::get_if<1>(&state_);
  }
  const Error& error() const& {
    assert(!ok());
    return *std::get_if<1>(&state_);
  }
  Error&& error() && {
    assert(!ok());
    return std::move(*std::get_if<1>(&state_));
  }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  using value_type = void;

  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT: implicit by design

  bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  Error& error() & {
    assert(!ok());
    return *error_;
  }
  const Error& error() const& {
    assert(!ok());
    return *error_;
  }
  Error&& error() && {
    assert(!ok());
    return std::move(*error_);
  }

 private:
  std::optional<Error> error_;
};

using Status = Result<void>;

}  // namespace gantry

#define GANTRY_JOIN_(A, B) A##B
#define GANTRY_JOIN(A, B) GANTRY_JOIN_(A, B)

// GANTRY_TRY(declaration, expression): declares the value, or returns the error from the function.
#define GANTRY_TRY(DECLARATION, ...) \
  GANTRY_TRY_(GANTRY_JOIN(gantry_result_, __COUNTER__), DECLARATION, __VA_ARGS__)
#define GANTRY_TRY_(RESULT, DECLARATION, ...)         \
  auto RESULT = (__VA_ARGS__);                        \
  if (!RESULT.ok()) return std::move(RESULT).error(); \
  DECLARATION = std::move(RESULT).value()

// GANTRY_CHECK(expression): for Status, or where the value is not wanted.
#define GANTRY_CHECK(...)                                          \
  do {                                                             \
    if (auto gantry_checked = (__VA_ARGS__); !gantry_checked.ok()) \
      return std::move(gantry_checked).error();                    \
  } while (false)
