// SPDX-License-Identifier: Apache-2.0
//
// gantry/abi_boundary.hpp - where C++ ends and the C ABI begins: errors become codes, codes become errors,
// and no exception passes.
//
//     gantry_code load_binary(void* self, const gantry_blob* blob, ..., gantry_status* status) {
//       return gantry::abi_boundary(status, [&]() -> gantry::Status {
//         GANTRY_TRY(Payload payload, read_payload(*blob));   // an Error: its code, reason, offset, text
//         modules.push_back(std::move(payload));              // bad_alloc: EXHAUSTED
//         return {};
//       });
//     }
//
// And on the side that calls:
//
//     gantry::StatusBuffer status;
//     const gantry_code code = table->load_binary(self, &blob, ..., status.get());
//     if (code != GANTRY_OK) return status.error(code, "load_binary of plugin acme.npu");
#pragma once

#include <gantry/status.h>
#include <gantry/result.hpp>
#include <gantry/utf8.hpp>

#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace gantry {

// An Error on its way through code that knows only exceptions (callbacks of a library, dmlc-core's
// streams). abi_boundary() takes it out again.
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
// status   [out]  may be NULL: only the code is returned; a text too long for its buffer is cut at a character
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
  return code;
}

// The error that the exception in flight stands for. Call it in a catch block only.
//
// returns  EXHAUSTED  std::bad_alloc, and whatever cannot be told for want of memory
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
    // no memory for the text
  }
  // short texts: nothing is allocated
  return exhausted("out of memory").with_reason("MEMORY");
}

// Runs the body of a C++ function that promises a Result: no exception passes.
//
// returns  what body returns; for an exception the error it stands for
template <class Body>
std::invoke_result_t<Body> guard(Body&& body) noexcept {
  try {
    return std::forward<Body>(body)();
  } catch (...) {
    return error_in_flight();
  }
}

// Runs the body of a function of the C ABI.
//
// status   [out]  the caller's, may be NULL
// body     [in]   returns a Status, any Result, or a gantry_code (then the status is its own business)
// returns  what body returns; for an exception the code of the error it stands for
template <class Body>
gantry_code abi_boundary(gantry_status* status, Body&& body) noexcept {
  try {
    if constexpr (std::is_same_v<std::invoke_result_t<Body>, gantry_code>) {
      return std::forward<Body>(body)();
    } else {
      const auto result = std::forward<Body>(body)();
      return result.ok() ? GANTRY_OK : to_status(result.error(), status);
    }
  } catch (...) {
    return to_status(error_in_flight().error(), status);
  }
}

// A status with room for a text, for calls into a table of the other side.
class StatusBuffer {
 public:
  // call() and get() fill what a call needs: nothing is cleared twice
  StatusBuffer() {}
  StatusBuffer(const StatusBuffer&) = delete;
  StatusBuffer& operator=(const StatusBuffer&) = delete;

  // Makes one call into the other side. An exception that comes out breaks the ABI and must not end the process:
  // it becomes BUG, and error() says that the one who was called throws.
  //
  // make     [in]   gantry_code(gantry_status*)
  template <class Make>
  gantry_code call(Make&& make) noexcept {
    clear();
    try {
      return std::forward<Make>(make)(&status_);
    } catch (...) {
      to_status(error_in_flight().error(), &status_);
      thrown_ = true;
      return GANTRY_BUG;
    }
  }

  // For one call: what an earlier call left is gone.
  gantry_status* get() {
    clear();
    return &status_;
  }

  // What the call has said. Precondition: call() or get().
  //
  // code     [in]   what it returned, not OK; it decides, whatever the status says
  // subject  [in]   who was called, for the message where there is none: "create of plugin acme.npu"
  // returns  an Error with the callee's text, or, where it gave none or an unknown code, one that says so
  Error error(gantry_code code, std::string_view subject) const {
    if (thrown_) {
      return bug(subject, " throws: ", shown_utf8({text_, text_size()})).with_reason("EXCEPTION");
    }
    if (code < GANTRY_MALFORMED || code > GANTRY_BUG) {
      return bug(subject, " returns ", code, ", which is no code").with_reason("STATUS_CODE");
    }
    Error error;
    error.code = static_cast<Code>(code);
    error.reason = field(status_.reason);
    error.offset = status_.offset;
    error.native_domain = field(status_.native_domain);
    error.native_code = status_.native_code;
    const std::string_view text(text_, text_size());
    error.message = shown_utf8(text);
    if (text.empty())
      error.message = concat(subject, " fails as ", name_of(error.code), " and gives no reason");
    if (!is_utf8(text)) error.at(subject, " gives a text that is not UTF-8");
    return error;
  }

 private:
  // Field by field: as one value it would be a loop of the processor's microcode, which takes longer than a call.
  void clear() {
    status_.struct_size = sizeof status_;
    status_.code = GANTRY_OK;
    status_.native_code = 0;
    std::memset(status_.native_domain, 0, sizeof status_.native_domain);
    std::memset(status_.reason, 0, sizeof status_.reason);
    status_.offset = no_offset;
    status_.text = text_;
    status_.text_capacity = sizeof text_;
    status_.text_size = 0;
    text_[0] = 0;
    thrown_ = false;
  }
  std::size_t text_size() const {
    return status_.text_size < sizeof text_ ? status_.text_size : sizeof text_ - 1;
  }
  // A text field of fixed size; the other side may have left out the terminator.
  template <std::size_t N>
  static std::string field(const char (&text)[N]) {
    return std::string(text, strnlen(text, N));
  }

  gantry_status status_;
  bool thrown_;
  char text_[2048];
};

}  // namespace gantry
