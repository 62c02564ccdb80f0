// SPDX-License-Identifier: Apache-2.0
#include "call_status.hpp"

#include <gantry/raised_error.hpp>
#include <gantry/result.hpp>

#include <nanobind/nanobind.h>

#include "callbacks.hpp"

namespace nb = nanobind;

namespace gantry::python {
namespace {

nb::str decoded(std::string_view text) {
  return nb::steal<nb::str>(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace"));
}

[[noreturn]] void raise(gantry_code code, std::string_view reason, std::string_view text,
                        const nb::object& offset, const nb::object& native_code,
                        std::string_view native_domain, const RaisedError& raised) {
  const bool is_deadline = code == GANTRY_CANCELLED && reason == "DEADLINE";
  const char* const name = is_deadline           ? "DeadlineError"
                           : code == GANTRY_LOST ? "DeviceLostError"
                                                 : "Error";
  const nb::object type = nb::module_::import_("gantry").attr(name);
  const nb::object error =
      type(decoded(text), nb::int_(code), decoded(reason), offset, native_code,
           decoded(native_domain), decoded(raised.kind), decoded(raised.backtrace));
  PyErr_SetObject(type.ptr(), error.ptr());
  throw nb::python_error();
}

}  // namespace

gantry_status* CallStatus::out() { return buffer_.get(); }

std::string_view CallStatus::text() {
  return buffer_.status().code != GANTRY_OK ? buffer_.text() : "no details are reported";
}

void CallStatus::check(gantry_code code) {
  if (code == GANTRY_OK) return forget_callback_exception();
  const gantry_status& status = buffer_.status();
  if (status.code == GANTRY_OK)
    raise(code, "", "no details are reported", nb::none(), nb::none(), "", {});
  raise_callback_exception(buffer_.text());
  const std::string_view domain = status.native_domain;
  raise(code, status.reason, buffer_.text(),
        status.offset == UINT64_MAX ? nb::none() : nb::object(nb::int_(status.offset)),
        domain.empty() ? nb::none() : nb::object(nb::int_(status.native_code)), domain,
        raised_in(status.error).value_or(RaisedError{}));
}

void refuse(std::string_view reason, std::string_view text) {
  raise(GANTRY_INVALID, reason, text, nb::none(), nb::none(), "", {});
}

}  // namespace gantry::python
