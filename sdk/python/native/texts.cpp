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

std::string path_in(nb::handle str) {
  PyObject* encoded = nullptr;
  if (PyUnicode_FSConverter(str.ptr(), &encoded) == 0) throw nb::python_error();
  const nb::object bytes = nb::steal(encoded);
  return {PyBytes_AsString(encoded), static_cast<std::size_t>(PyBytes_Size(encoded))};
}

Texts::Texts(const nb::object& texts) {
  if (texts.is_none()) return;
  for (const nb::handle text : texts) texts_.emplace_back(text_in(text));
  add_bytes();
}

Texts Texts::of_paths(const nb::object& paths) {
  Texts made;
  for (const nb::handle path : paths) made.texts_.push_back(path_in(path));
  made.add_bytes();
  return made;
}

void Texts::add_bytes() {
  for (const std::string& text : texts_) bytes_.push_back(bytes_of(text));
}

}  // namespace gantry::python
