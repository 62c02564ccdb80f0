// SPDX-License-Identifier: Apache-2.0
//
// gantry/abi_boundary.hpp - converts between C++ errors and the codes of the C ABI, and stops
// exceptions at the boundary.
//
//     gantry_code synchronize(void* self, std::int32_t i, void* stream, gantry_status* status) {
//       return gantry::abi_boundary(status, [&]() -> gantry::Status {
//         GANTRY_TRY(Device* const device, device_at(self, i));
//         return device->synchronize(stream);
//       });
//     }
//
// An Error is reported with its code, reason, offset and text; std::bad_alloc is reported as
// EXHAUSTED. The classes of plugin.hpp do this for every function. For callers of the ABI:
//
//     gantry::StatusBuffer status;
//     const gantry_code code = table.synchronize(self, 0, nullptr, status.get());
//     if (code != GANTRY_OK) return status.error(code, "synchronize of device acme:0");
//
// The forced unwinding of pthread_cancel() is not stopped. libc++ has no type for it: there, a thread
// must not be cancelled within a call.
#pragma once

#include <gantry/status.h>
#include <gantry/object_ref.hpp>
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

// Carries an Error through code that reports errors by exceptions only (callbacks of a library,
// streams of dmlc-core). abi_boundary() converts it back.
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
// status   [out]  NULL: only the code is returned. A text that is too long for the buffer is
//                 truncated at a character. An error object of an earlier failure in the same call
//                 is released
// returns  error.code
inline gantry_code to_status(const Error& error, gantry_status* status) noexcept {
  const auto code = static_cast<gantry_code>(error.code);
  if (status == nullptr) return code;
  const ObjectRef replaced = ObjectRef::adopt(status->error);
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

// Converts the current exception to an error. Precondition: called in a catch block.
//
// returns  the error of an ErrorThrown
//          EXHAUSTED  std::bad_alloc, or no memory for the text of another exception
//          BUG        any other exception, with what() as the text
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
      return bug(Message::lines(text)).with_reason("EXCEPTION");
    } catch (...) {
      return bug("exception that is not a std::exception").with_reason("EXCEPTION");
    }
  } catch (...) {
    // There is no memory for the text.
  }
  // These texts fit in std::string without an allocation.
  return exhausted("out of memory").with_reason("MEMORY");
}

namespace detail {
// Returns the result of body, or that of `recover` if body throws.
//
// recover  [in]   called in the catch block
template <class Body, class Recover>
std::invoke_result_t<Body> without_exceptions(Body&& body, Recover&& recover) {
  try {
    return std::forward<Body>(body)();
#ifdef __GLIBCXX__
  } catch (abi::__forced_unwind&) {
    throw;
#endif
  } catch (...) {
    return std::forward<Recover>(recover)();
  }
}
}  // namespace detail

// Runs the body of a C++ function that returns a Result, and stops exceptions.
//
// returns  the result of body; error_in_flight() if body throws
template <class Body>
std::invoke_result_t<Body> guard(Body&& body) {
  return detail::without_exceptions(std::forward<Body>(body), error_in_flight);
}

// Runs the body of a function of the C ABI.
//
// status   [out]  the caller's, may be NULL
// body     [in]   returns a Status, a Result, or a gantry_code (then it fills the status itself)
// returns  the code of body's result; that of error_in_flight() if body throws
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

// Returns the error that a failed call reported.
//
// status   [in]   prepared as the ABI requires before the call
// text     [in]   of the status, within the caller's buffer
// code     [in]   what the callee returned, not OK; used instead of the status's own code
// subject  [in]   the callee, for messages: "create of plugin acme.npu"
// returns  an Error with the callee's text. If the callee provides no text or an unknown code, the
//          Error reports that
inline Error error_of(const gantry_status& status, std::string_view text, gantry_code code,
                      std::string_view subject) {
  if (!is_failure_code(code)) {
    return bug(subject, " returns ", code, ", which is not a code").with_reason("STATUS_CODE");
  }
  // A text field of fixed size, which may lack its terminator.
  const auto field = []<std::size_t N>(const char(&bytes)[N]) {
    return std::string(bytes, strnlen(bytes, N));
  };
  Error error;
  error.code = static_cast<Code>(code);
  if (status.code != GANTRY_OK) {
    error.message = Message::lines(text);
    error.reason = field(status.reason);
    error.offset = status.offset;
    error.native_domain = field(status.native_domain);
    error.native_code = status.native_code;
    error.raised = ObjectRef::share(status.error);
    if (!is_utf8(text)) error.at(subject, " returns a text that is not UTF-8");
  }
  if (error.message.empty())
    error.message = Message(subject, " fails as ", name_of(error.code), " without a reason");
  return error;
}

// A gantry_status with a buffer for its text, for calls of functions of the ABI.
//
// capacity  bytes of the text, which is cut
// Release   see BasicObjectRef
template <std::size_t capacity, class Release>
class BasicStatusBuffer {
 public:
  // The other members are initialised by get() or, after a failure, by the callee.
  BasicStatusBuffer() { status_.error = nullptr; }
  ~BasicStatusBuffer() { clear_error(); }
  BasicStatusBuffer(const BasicStatusBuffer&) = delete;
  BasicStatusBuffer& operator=(const BasicStatusBuffer&) = delete;

  // Calls a function of the ABI. If it throws, which violates the ABI, the result is BUG and
  // error() reports that the callee throws.
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

  // Returns the status for one call. Clears the details of the previous call.
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

  // Each returns what the call reported. Precondition: call() or get().
  //
  // Arguments and result of error() are those of error_of().
  const gantry_status& status() const { return status_; }
  std::string_view text() const {
    return {text_, status_.text_size < sizeof text_ ? status_.text_size : sizeof text_ - 1};
  }
  Error error(gantry_code code, std::string_view subject) const {
    if (thrown_) return bug(subject, " throws: ", Message::lines(text())).with_reason("EXCEPTION");
    return error_of(status_, text(), code, subject);
  }

 private:
  void clear_error() {
    if (status_.error != nullptr) Release::release(std::exchange(status_.error, nullptr));
  }

  gantry_status status_;
  bool thrown_ = false;
  char text_[capacity];
};
using StatusBuffer = BasicStatusBuffer<2048, ReleaseAtOnce>;

}  // namespace gantry
