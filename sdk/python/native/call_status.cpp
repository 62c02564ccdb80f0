// SPDX-License-Identifier: Apache-2.0
#include "call_status.hpp"

#include <nanobind/nanobind.h>

#include "api.hpp"
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
                        std::string_view native_domain) {
  const bool is_deadline = code == GANTRY_CANCELLED && reason == "DEADLINE";
  const nb::object type =
      nb::module_::import_("gantry._errors").attr(is_deadline ? "DeadlineError" : "Error");
  const nb::object error = type(decoded(text), nb::int_(code), decoded(reason), offset, native_code,
                                decoded(native_domain));
  PyErr_SetObject(type.ptr(), error.ptr());
  throw nb::python_error();
}

}  // namespace

gantry_status* CallStatus::out() {
  status_ = {};
  status_.struct_size = sizeof status_;
  status_.text = text_.data();
  status_.text_capacity = static_cast<std::uint32_t>(text_.size());
  return &status_;
}

std::string_view CallStatus::take_text() {
  if (status_.code == GANTRY_OK) return "no details are reported";
  release(status_.error);
  status_.error = nullptr;
  return {status_.text, status_.text_size};
}

void CallStatus::check(gantry_code code) {
  if (code == GANTRY_OK) return forget_callback_exception();
  const bool has_details = status_.code != GANTRY_OK;
  const OwnedObject error = OwnedObject::adopt(has_details ? status_.error : nullptr);
  if (!has_details) raise(code, "", "no details are reported", nb::none(), nb::none(), "");
  raise_callback_exception({status_.text, status_.text_size});
  const std::string_view domain = status_.native_domain;
  raise(code, status_.reason, {status_.text, status_.text_size},
        status_.offset == UINT64_MAX ? nb::none() : nb::object(nb::int_(status_.offset)),
        domain.empty() ? nb::none() : nb::object(nb::int_(status_.native_code)), domain);
}

void refuse(std::string_view reason, std::string_view text) {
  raise(GANTRY_INVALID, reason, text, nb::none(), nb::none(), "");
}

}  // namespace gantry::python
