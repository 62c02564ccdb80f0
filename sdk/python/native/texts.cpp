// SPDX-License-Identifier: Apache-2.0
#include "texts.hpp"

namespace nb = nanobind;

namespace gantry::python {

std::string_view text_in(nb::handle str) {
  Py_ssize_t size = 0;
  const char* const data = PyUnicode_AsUTF8AndSize(str.ptr(), &size);
  if (data == nullptr) throw nb::python_error();
  return {data, static_cast<std::size_t>(size)};
}

Texts::Texts(const nb::object& texts) {
  if (texts.is_none()) return;
  for (const nb::handle text : texts) texts_.emplace_back(text_in(text));
  for (const std::string& text : texts_) bytes_.push_back(bytes_of(text));
}

}  // namespace gantry::python
