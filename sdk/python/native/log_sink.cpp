// SPDX-License-Identifier: Apache-2.0
#include "log_sink.hpp"

#include <cstdint>
#include <cstdio>

#include "gil.hpp"
#include "interpreter.hpp"

namespace nb = nanobind;

namespace gantry::python {
namespace {

void write_line(void* self, std::int32_t level, gantry_bytes line) {
  if (!interpreter_runs()) {
    std::fprintf(stderr, "gantry: %.*s\n", static_cast<int>(line.size), line.data);
    return;
  }
  const GilAcquired acquired;
  // A line may be written while an exception passes through the thread.
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyObject* const text =
      PyUnicode_DecodeUTF8(line.data, static_cast<Py_ssize_t>(line.size), "backslashreplace");
  PyObject* const done =
      text != nullptr ? PyObject_CallFunction(static_cast<PyObject*>(self), "iO", level, text)
                      : nullptr;
  if (done == nullptr) PyErr_WriteUnraisable(static_cast<PyObject*>(self));
  Py_XDECREF(done);
  Py_XDECREF(text);
  PyErr_Restore(type, value, traceback);
}

void destroy_sink(void* self) {
  if (!interpreter_runs()) return;
  const GilAcquired acquired;
  Py_DECREF(static_cast<PyObject*>(self));
}

}  // namespace

gantry_log_sink log_sink(nb::object write) {
  if (write.is_none()) return {};
  return {write.release().ptr(), write_line, destroy_sink};
}

}  // namespace gantry::python
