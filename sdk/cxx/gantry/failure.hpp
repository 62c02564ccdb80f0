// SPDX-License-Identifier: Apache-2.0
//
// gantry/failure.hpp - Failure, an Error while functions return it, and one function for each code
// that creates it.
//
//     return malformed(in.offset(), "import tree has ", count, " row pointers, minimum is 2")
//         .with_reason("TREE_ROWS");
#pragma once

#include <gantry/error.hpp>

#include <atomic>
#include <cassert>
#include <cstddef>
#include <exception>
#include <initializer_list>
#include <new>
#include <utility>

namespace gantry {

namespace detail {
struct KeptError {
  Error error;
  // `taken` of the preallocated error; NULL if the error is on the heap.
  std::atomic<bool>* slot = nullptr;
};

// Preallocated errors for when memory is exhausted. Each shared library has its own array, so
// KeptError stores which element it is in.
struct ReservedError {
  std::atomic<bool> taken{false};
  alignas(KeptError) std::byte storage[sizeof(KeptError)]{};
};
inline constinit ReservedError reserved_errors[8];

[[gnu::cold]] inline KeptError* keep(Error&& error) noexcept {
  if (auto* kept = new (std::nothrow) KeptError{std::move(error)}) return kept;
  for (ReservedError& reserved : reserved_errors) {
    if (!reserved.taken.exchange(true))
      return new (reserved.storage) KeptError{std::move(error), &reserved.taken};
  }
  // Memory is exhausted and all preallocated errors are in use.
  std::terminate();
}

[[gnu::cold]] inline void drop(KeptError* kept) noexcept {
  std::atomic<bool>* const slot = kept->slot;
  if (slot == nullptr) {
    delete kept;
  } else {
    kept->~KeptError();
    *slot = false;
  }
}

// Both keep the text as it was where there is no memory for more.
[[gnu::cold]] inline void assign(std::string& to, std::string_view text) noexcept {
  try {
    to = text;
  } catch (...) {
  }
}
[[gnu::cold]] inline void add_line(Error& error, std::initializer_list<TextPiece> parts) noexcept {
  try {
    error.message.append_line(parts);
  } catch (...) {
  }
}
}  // namespace detail

// An error while functions return it: one pointer, so that a Result is no larger than its value or
// a pointer.
class [[nodiscard]] Failure {
 public:
  // costs    one allocation; if it fails, a preallocated error is used
  [[gnu::cold]] explicit Failure(Error&& error) noexcept : error_(detail::keep(std::move(error))) {}
  [[gnu::cold]] Failure(const Failure& other)
      : error_(other.error_ != nullptr ? detail::keep(Error(other.error_->error)) : nullptr) {}
  Failure(Failure&& other) noexcept : error_(std::exchange(other.error_, nullptr)) {}
  Failure& operator=(Failure other) noexcept {
    std::swap(error_, other.error_);
    return *this;
  }
  ~Failure() {
    if (error_ != nullptr) detail::drop(error_);
  }

  // Precondition: not moved from.
  Error& error() const {
    assert(error_ != nullptr);
    return error_->error;
  }
  // NOLINTNEXTLINE: implicit, for functions that return an Error
  operator Error() && { return std::move(error()); }

  // Like the members of Error, but never throw: if memory is exhausted, the text is not added.
  Failure&& with_reason(std::string_view tag) && noexcept {
    detail::assign(error().reason, tag);
    return std::move(*this);
  }
  Failure&& native(std::string_view domain, std::int64_t number) && noexcept {
    error().native_code = number;
    detail::assign(error().native_domain, domain);
    return std::move(*this);
  }
  template <class... Parts>
  Failure&& at(const Parts&... parts) && noexcept {
    detail::add_line(error(), {TextPiece(parts)...});
    return std::move(*this);
  }

 private:
  template <class>
  friend class Result;
  Failure() = default;

  detail::KeptError* error_ = nullptr;
};

namespace detail {
// If there is no memory for the text, the error is EXHAUSTED instead.
[[gnu::cold]] inline Failure failure(Code code, std::uint64_t offset,
                                     std::initializer_list<TextPiece> text) noexcept {
  Error made(code, {}, offset);
  try {
    made.message.append(text);
  } catch (...) {
    // These texts fit in std::string without an allocation.
    made = Error(Code::exhausted, "out of memory");
    made.reason = "MEMORY";
  }
  return Failure(std::move(made));
}
}  // namespace detail

// One function for each code but `ok`. malformed() is about bytes and therefore takes an offset.
template <class... Parts>
Failure malformed(std::uint64_t offset, const Parts&... parts) {
  return detail::failure(Code::malformed, offset, {TextPiece(parts)...});
}
template <class... Parts>
Failure fail(Code code, const Parts&... parts) {
  assert(code != Code::ok);
  return detail::failure(code, no_offset, {TextPiece(parts)...});
}
template <class... Parts>
Failure unsupported(const Parts&... parts) {
  return fail(Code::unsupported, parts...);
}
template <class... Parts>
Failure unavailable(const Parts&... parts) {
  return fail(Code::unavailable, parts...);
}
template <class... Parts>
Failure exhausted(const Parts&... parts) {
  return fail(Code::exhausted, parts...);
}
template <class... Parts>
Failure invalid(const Parts&... parts) {
  return fail(Code::invalid, parts...);
}
template <class... Parts>
Failure not_found(const Parts&... parts) {
  return fail(Code::not_found, parts...);
}
template <class... Parts>
Failure cancelled(const Parts&... parts) {
  return fail(Code::cancelled, parts...);
}
template <class... Parts>
Failure lost(const Parts&... parts) {
  return fail(Code::lost, parts...);
}
template <class... Parts>
Failure bug(const Parts&... parts) {
  return fail(Code::bug, parts...);
}

}  // namespace gantry
