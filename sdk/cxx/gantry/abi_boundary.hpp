// SPDX-License-Identifier: Apache-2.0
//
// gantry/abi_boundary.hpp - between C++ and the C ABI: errors become codes, codes become errors,
// and no exception crosses.
//
//     gantry_code synchronize(void* self, std::int32_t i, void* stream, gantry_status* status) {
//       return gantry::abi_boundary(status, [&]() -> gantry::Status {
//         GANTRY_TRY(Device* const device, device_at(self, i));
//         return device->synchronize(stream);
//       });
//     }
//
// An Error returns its code, reason, offset and text; std::bad_alloc returns EXHAUSTED. The layer
// in plugin.hpp does this for every function of a class. On the side that calls:
//
//     gantry::StatusBuffer status;
//     const gantry_code code = table.synchronize(self, 0, nullptr, status.get());
//     if (code != GANTRY_OK) return status.error(code, "synchronize of device acme:0");
//
// The forced unwinding of pthread_cancel() is no exception of the program's and crosses everywhere.
#pragma once

#include <gantry/status.h>
#include <gantry/result.hpp>
#include <gantry/utf8.hpp>

#include <cxxabi.h>

#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace gantry {

// An Error on its way through code that knows only exceptions (callbacks of a library, dmlc-core's
// streams). abi_boundary() returns it again.
class ErrorThrown : public std::exception {
 public:
  explicit ErrorThrown(Error error) : error_(std::move(error)) {}
  const Error& error() const noexcept { return error_; }
  const char* what() const noexcept override { return error_.message.c_str(); }

 private:
  Error error_;
};

// Writes an error into the caller's status.
//
// status   [out]  may be NULL: only the code is returned; a text too long for its buffer is cut at
//                 a character
// returns  error.code
inline gantry_code to_status(const Error& error, gantry_status* status) noexcept {
  const auto code = static_cast<gantry_code>(error.code);
  if (status == nullptr) return code;
  gantry_fail(status, code, error.reason.c_str(), error.message.c_str());
  status->offset = error.offset;
  status->native_code = error.native_code;
  const std::size_t max = sizeof status->native_domain - 1;
  const std::size_t size = error.native_domain.size() < max ? error.native_domain.size() : max;
  std::memcpy(status->native_domain, error.native_domain.data(), size);
  status->native_domain[size] = 0;
  status->error = ObjectRef(error.raised).take();
  return code;
}

// Returns the error that the exception in flight stands for. Call it in a catch block only.
//
// returns  EXHAUSTED  std::bad_alloc, and an exception whose text finds no memory
//          BUG        any other, with what() as the text
//          the error's own code for ErrorThrown
inline Failure error_in_flight() noexcept {
  try {
    try {
      throw;
    } catch (const ErrorThrown& thrown) {
      return Failure(Error(thrown.error()));
    } catch (const std::bad_alloc&) {
    } catch (const std::exception& thrown) {
      const char* text = thrown.what();
      if (text == nullptr || *text == 0) text = "exception without a text";
      return bug(text).with_reason("EXCEPTION");
    } catch (...) {
      return bug("exception that is no std::exception").with_reason("EXCEPTION");
    }
  } catch (...) {
    // No memory for the text.
  }
  // Short texts: nothing is allocated.
  return exhausted("out of memory").with_reason("MEMORY");
}

namespace detail {
// Runs body; an exception makes the result instead.
//
// recover  [in]   called in the catch block
template <class Body, class Recover>
std::invoke_result_t<Body> without_exceptions(Body&& body, Recover&& recover) {
  try {
    return std::forward<Body>(body)();
  } catch (abi::__forced_unwind&) {
    throw;
  } catch (...) {
    return std::forward<Recover>(recover)();
  }
}
}  // namespace detail

// Runs the body of a C++ function that returns a Result: no exception passes.
//
// returns  what body returns; for an exception the error it stands for
template <class Body>
std::invoke_result_t<Body> guard(Body&& body) {
  return detail::without_exceptions(std::forward<Body>(body), error_in_flight);
}

// Runs the body of a function of the C ABI.
//
// status   [out]  the caller's, may be NULL
// body     [in]   returns a Status, any Result, or a gantry_code (then it fills the status itself)
// returns  what body returns; for an exception the code of the error it stands for
template <class Body>
gantry_code abi_boundary(gantry_status* status, Body&& body) {
  return detail::without_exceptions(
      [&]() -> gantry_code {
        if constexpr (std::is_same_v<std::invoke_result_t<Body>, gantry_code>) {
          return std::forward<Body>(body)();
        } else {
          const auto result = std::forward<Body>(body)();
          return result.ok() ? GANTRY_OK : to_status(result.error(), status);
        }
      },
      [&] { return to_status(error_in_flight().error(), status); });
}

// A status with a buffer for its text, for calls into a table of the other side.
class StatusBuffer {
 public:
  // call() and get() prepare what a call needs; the rest stays as it is, for a callee that fails
  // writes it.
  StatusBuffer() { status_.error = nullptr; }
  ~StatusBuffer() { clear_error(); }
  StatusBuffer(const StatusBuffer&) = delete;
  StatusBuffer& operator=(const StatusBuffer&) = delete;

  // Makes one call into the other side. An exception that comes out breaks the ABI and must not end
  // the process: it becomes BUG, and error() reports that the callee throws.
  //
  // make     [in]   gantry_code(gantry_status*)
  template <class Make>
  gantry_code call(Make&& make) {
    gantry_status* const status = get();
    return detail::without_exceptions([&] { return std::forward<Make>(make)(status); },
                                      [&]() -> gantry_code {
                                        to_status(error_in_flight().error(), status);
                                        thrown_ = true;
                                        return GANTRY_BUG;
                                      });
  }

  // For one call: the details of an earlier call are gone.
  gantry_status* get() {
    clear_error();
    status_.struct_size = sizeof status_;
    status_.code = GANTRY_OK;
    status_.text = text_;
    status_.text_capacity = sizeof text_;
    status_.text_size = 0;
    thrown_ = false;
    return &status_;
  }

  // Returns what the call reported. Precondition: call() or get().
  //
  // code     [in]   what it returned, not OK; it decides, whatever the status contains
  // subject  [in]   the callee, for the message where there is none: "create of plugin acme.npu"
  // returns  an Error with the callee's text, or, where it gave none or an unknown code, one that
  //          reports that
  Error error(gantry_code code, std::string_view subject) const {
    if (thrown_) return bug(subject, " throws: ", shown_utf8(text())).with_reason("EXCEPTION");
    if (code < GANTRY_MALFORMED || code > GANTRY_BUG) {
      return bug(subject, " returns ", code, ", which is no code").with_reason("STATUS_CODE");
    }
    Error error;
    error.code = static_cast<Code>(code);
    if (status_.code != GANTRY_OK) {
      error.message = shown_utf8(text());
      error.reason = field(status_.reason);
      error.offset = status_.offset;
      error.native_domain = field(status_.native_domain);
      error.native_code = status_.native_code;
      error.raised = ObjectRef::share(status_.error);
      if (!is_utf8(text())) error.at(subject, " gives a text that is not UTF-8");
    }
    if (error.message.empty())
      error.message = concat(subject, " fails as ", name_of(error.code), " and gives no reason");
    return error;
  }

 private:
  void clear_error() {
    if (status_.error != nullptr) gantry_release(std::exchange(status_.error, nullptr));
  }
  std::string_view text() const {
    return {text_, status_.text_size < sizeof text_ ? status_.text_size : sizeof text_ - 1};
  }
  // A text field of fixed size; the other side may have left out the terminator.
  template <std::size_t N>
  static std::string field(const char (&text)[N]) {
    return std::string(text, strnlen(text, N));
  }

  gantry_status status_;
  bool thrown_ = false;
  char text_[2048];
};

}  // namespace gantry
