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
// A Result is its value or one pointer: a call that succeeds moves, clears and tests nothing of an error.
#pragma once

#include <gantry/error.hpp>

#include <atomic>
#include <cassert>
#include <concepts>
#include <cstddef>
#include <exception>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace gantry {

namespace detail {
struct KeptError {
  Error error;
  std::atomic<bool>* place = nullptr;  // what says that its place is taken; NULL: it is on the heap
};

// Places for errors while memory is out. Each thread in that need takes one until its error has been told. Every library
// has its own, so an error says where it lies.
struct Spare {
  std::atomic<bool> taken{false};
  alignas(KeptError) std::byte room[sizeof(KeptError)]{};
};
inline constinit Spare spares[8];

[[gnu::noinline, gnu::cold]] inline KeptError* keep(Error&& error) noexcept {
  if (auto* kept = new (std::nothrow) KeptError{std::move(error)}) return kept;
  for (Spare& spare : spares) {
    if (!spare.taken.exchange(true))
      return new (spare.room) KeptError{std::move(error), &spare.taken};
  }
  std::terminate();  // nine errors at once for which there is no memory
}

[[gnu::noinline, gnu::cold]] inline void drop(KeptError* kept) noexcept {
  std::atomic<bool>* const place = kept->place;
  if (place == nullptr) {
    delete kept;
  } else {
    kept->~KeptError();
    *place = false;
  }
}
}  // namespace detail

// An error on its way out of functions: one pointer, so that a call that succeeds carries nothing of it.
class [[nodiscard]] Failure {
 public:
  // costs    one allocation; where memory is out, one of a few places kept for that, so that it can be told
  [[gnu::noinline, gnu::cold]] explicit Failure(Error&& error) noexcept
      : error_(detail::keep(std::move(error))) {}
  [[gnu::noinline, gnu::cold]] Failure(const Failure& other)
      : error_(other.error_ != nullptr ? detail::keep(Error(other.error_->error)) : nullptr) {}
  Failure(Failure&& other) noexcept : error_(std::exchange(other.error_, nullptr)) {}
  Failure& operator=(Failure other) noexcept {
    std::swap(error_, other.error_);
    return *this;
  }
  ~Failure() {
    if (error_ != nullptr) detail::drop(error_);
  }

  // Precondition of all: not moved from.
  Error& error() const {
    assert(error_ != nullptr);
    return error_->error;
  }
  operator Error() && {
    return std::move(error());
  }  // NOLINT: where a function returns a bare Error

 private:
  template <class>
  friend class Result;
  Failure() = default;

  detail::KeptError* error_ = nullptr;
};

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

  // Precondition of all: !ok().
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
  // For handing it on as it is.
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

// GANTRY_TRY(declaration, expression): declares the value, or returns the error from the function.
#define GANTRY_TRY(DECLARATION, ...) \
  GANTRY_TRY_(GANTRY_JOIN(gantry_result_, __COUNTER__), DECLARATION, __VA_ARGS__)
#define GANTRY_TRY_(RESULT, DECLARATION, ...)           \
  auto RESULT = (__VA_ARGS__);                          \
  if (!RESULT.ok()) return std::move(RESULT).failure(); \
  DECLARATION = std::move(RESULT).value()

// GANTRY_CHECK(expression): for Status, or where the value is not wanted.
#define GANTRY_CHECK(...)                                          \
  do {                                                             \
    if (auto gantry_checked = (__VA_ARGS__); !gantry_checked.ok()) \
      return std::move(gantry_checked).failure();                  \
  } while (false)
