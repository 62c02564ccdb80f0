// SPDX-License-Identifier: Apache-2.0
//
// gantry/result.hpp - Result<T>: a value of type T or an error.
//
//     Result<ImportTree> read_tree(ByteReader& in) {
//       GANTRY_TRY(const std::uint64_t count, in.read_u64("row count"));  // or returns its error
//       if (count < 2) {
//         return malformed(in.offset(), "import tree has ", count, " row pointers, minimum is 2")
//             .with_reason("TREE_ROWS");
//       }
//       return ImportTree(count);
//     }
//
// A Result stores the value or one pointer to the error, so successful calls do not move errors
// around.
#pragma once

#include <gantry/failure.hpp>

#include <cassert>
#include <concepts>
#include <memory>
#include <type_traits>
#include <utility>

namespace gantry {

template <class T = void>
class [[nodiscard]] Result {
 public:
  using value_type = T;

  Result(T value) noexcept(std::is_nothrow_move_constructible_v<T>)
      : value_(std::move(value)), ok_(true) {}  // NOLINT: implicit by design
  Result(Error&& error) : failure_(std::move(error)), ok_(false) {}
  Result(const Error& error) : failure_(Error(error)), ok_(false) {}
  Result(Failure failure) noexcept : failure_(std::move(failure)), ok_(false) {}
  template <class U>
  requires(std::convertible_to<U&&, T> && !std::same_as<std::remove_cvref_t<U>, T> &&
           !std::same_as<std::remove_cvref_t<U>, Error> &&
           !std::same_as<std::remove_cvref_t<U>, Failure> &&
           !std::same_as<std::remove_cvref_t<U>, Result>) Result(U&& value)
      : value_(std::forward<U>(value)), ok_(true) {}

  Result(const Result& other) requires std::copy_constructible<T> : ok_(other.ok_) {
    if (ok_)
      std::construct_at(&value_, other.value_);
    else
      std::construct_at(&failure_, other.failure_);
  }
  Result(Result&& other) noexcept(std::is_nothrow_move_constructible_v<T>) : ok_(other.ok_) {
    if (ok_)
      std::construct_at(&value_, std::move(other.value_));
    else
      std::construct_at(&failure_, std::move(other.failure_));
  }
  Result& operator=(Result other) noexcept {
    static_assert(std::is_nothrow_move_constructible_v<T>);
    std::destroy_at(this);
    std::construct_at(this, std::move(other));
    return *this;
  }
  ~Result() {
    if (ok_)
      value_.~T();
    else
      failure_.~Failure();
  }

  bool ok() const { return ok_; }
  explicit operator bool() const { return ok_; }

  // Precondition: ok().
  T& value() & {
    assert(ok());
    return value_;
  }
  const T& value() const& {
    assert(ok());
    return value_;
  }
  T&& value() && {
    assert(ok());
    return std::move(value_);
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  // Precondition: !ok().
  Error& error() & {
    assert(!ok());
    return failure_.error();
  }
  const Error& error() const& {
    assert(!ok());
    return failure_.error();
  }
  Error&& error() && {
    assert(!ok());
    return std::move(failure_.error());
  }
  // Moves the error out, to return it from the caller. Precondition: !ok().
  Failure&& failure() && {
    assert(!ok());
    return std::move(failure_);
  }

 private:
  union {
    T value_;
    Failure failure_;
  };
  bool ok_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  using value_type = void;

  Result() = default;
  Result(Error&& error) : failure_(std::move(error)) {}  // NOLINT: implicit by design
  Result(const Error& error) : failure_(Error(error)) {}
  Result(Failure failure) noexcept : failure_(std::move(failure)) {}

  bool ok() const { return failure_.error_ == nullptr; }
  explicit operator bool() const { return ok(); }
  Error& error() & { return failure_.error(); }
  const Error& error() const& { return failure_.error(); }
  Error&& error() && { return std::move(failure_.error()); }
  Failure&& failure() && { return std::move(failure_); }

 private:
  Failure failure_;
};

using Status = Result<void>;

}  // namespace gantry

#define GANTRY_JOIN_(A, B) A##B
#define GANTRY_JOIN(A, B) GANTRY_JOIN_(A, B)

// GANTRY_TRY(declaration, expression): declares a variable with the value of a Result, or returns
// its error from the enclosing function.
#define GANTRY_TRY(DECLARATION, ...) \
  GANTRY_TRY_(GANTRY_JOIN(gantry_result_, __COUNTER__), DECLARATION, __VA_ARGS__)
#define GANTRY_TRY_(RESULT, DECLARATION, ...)           \
  auto RESULT = (__VA_ARGS__);                          \
  if (!RESULT.ok()) return std::move(RESULT).failure(); \
  DECLARATION = std::move(RESULT).value()

// GANTRY_CHECK(expression): returns the error of a Status or a Result from the enclosing function.
// A value is discarded.
#define GANTRY_CHECK(...)                                          \
  do {                                                             \
    if (auto gantry_checked = (__VA_ARGS__); !gantry_checked.ok()) \
      return std::move(gantry_checked).failure();                  \
  } while (false)
