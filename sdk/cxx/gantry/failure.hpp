// SPDX-License-Identifier: Apache-2.0
//
// gantry/failure.hpp - an error on its way out of functions, and what makes one for each code.
//
//     return malformed(in.offset(), "import tree has ", count, " row pointers, minimum is 2").with_reason("TREE_SHORT");
#pragma once

#include <gantry/error.hpp>

#include <atomic>
#include <cassert>
#include <cstdarg>
#include <cstddef>
#include <exception>
#include <new>
#include <utility>

namespace gantry {

namespace detail {
struct KeptError {
  Error error;
  // what says that its place is taken; NULL: it is on the heap
  std::atomic<bool>* location = nullptr;
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
  // nine errors at once for which there is no memory
  std::terminate();
}

[[gnu::noinline, gnu::cold]] inline void drop(KeptError* kept) noexcept {
  std::atomic<bool>* const location = kept->location;
  if (location == nullptr) {
    delete kept;
  } else {
    kept->~KeptError();
    *location = false;
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

  // More to tell, as of Error. Where there is no memory for it, the error goes out without: these stand at every
  // return of a function that can fail, and what could throw there would need code to clear up behind it.
  [[gnu::noinline]] Failure&& with_reason(std::string_view tag) && noexcept {
    tell([&](Error& error) { error.reason = tag; });
    return std::move(*this);
  }
  [[gnu::noinline]] Failure&& with_reason(const char* tag) && noexcept {
    return std::move(*this).with_reason(std::string_view(tag));
  }
  [[gnu::noinline]] Failure&& native(std::string_view domain, std::int64_t number) && noexcept {
    tell([&](Error& error) {
      error.native_code = number;
      error.native_domain = domain;
    });
    return std::move(*this);
  }
  template <class... Parts>
  Failure&& at(const Parts&... parts) && noexcept {
    return std::move(*this).line(detail::kinds<detail::kind_of<Parts>()...>,
                                 detail::passed(parts)...);
  }

 private:
  template <class More>
  void tell(const More& more) noexcept {
    try {
      more(error());
    } catch (...) {
    }
  }
  [[gnu::noinline]] Failure&& line(const char* kinds, ...) && noexcept {
    std::va_list parts;
    va_start(parts, kinds);
    tell([&](Error& error) {
      error.message += "\n  ";
      detail::append(error.message, kinds, parts);
    });
    va_end(parts);
    return std::move(*this);
  }

  template <class>
  friend class Result;
  Failure() = default;

  detail::KeptError* error_ = nullptr;
};

namespace detail {
// costs    no exception: where there is no memory for the text, that is the error
[[gnu::noinline, gnu::cold]] inline Failure failure(Code code, std::uint64_t offset,
                                                    const char* kinds, ...) noexcept {
  std::va_list parts;
  va_start(parts, kinds);
  Error made(code, {}, offset);
  try {
    append(made.message, kinds, parts);
  } catch (...) {
    // short texts: nothing is allocated
    made = Error(Code::exhausted, "out of memory");
    made.reason = "MEMORY";
  }
  va_end(parts);
  return Failure(std::move(made));
}
}  // namespace detail

// One function for each code but ok. Only malformed() is about bytes, so only it takes an offset first.
template <class... Parts>
Failure malformed(std::uint64_t offset, const Parts&... parts) {
  return detail::failure(Code::malformed, offset, detail::kinds<detail::kind_of<Parts>()...>,
                         detail::passed(parts)...);
}
template <class... Parts>
Failure fail(Code code, const Parts&... parts) {
  assert(code != Code::ok);
  return detail::failure(code, no_offset, detail::kinds<detail::kind_of<Parts>()...>,
                         detail::passed(parts)...);
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
Failure bug(const Parts&... parts) {
  return fail(Code::bug, parts...);
}

}  // namespace gantry
