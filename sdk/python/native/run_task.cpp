// SPDX-License-Identifier: Apache-2.0
#include "run_task.hpp"

#include <cmath>
#include <cstdint>

#include "call_status.hpp"
#include "gil.hpp"

namespace nb = nanobind;

namespace gantry::python {
namespace {

unsigned long main_thread = 0;

// Runs the handlers of signals that have arrived. The exception of a handler stays set until the run
// has returned.
std::int32_t poll_signals(void*) {
  const GilAcquired acquired;
  return PyErr_Occurred() != nullptr || PyErr_CheckSignals() != 0 ? 1 : 0;
}

// returns  nanoseconds; 0: no deadline
std::int64_t nanoseconds(const nb::object& timeout) {
  if (timeout.is_none()) return 0;
  const double seconds = PyFloat_AsDouble(timeout.ptr());
  if (seconds == -1 && PyErr_Occurred() != nullptr) throw nb::python_error();
  constexpr double max_seconds = 9e9;
  if (!(seconds >= 0) || std::isinf(seconds)) {
    PyErr_Format(PyExc_ValueError, "timeout is %R, expected seconds", timeout.ptr());
    throw nb::python_error();
  }
  const double rounded = std::ceil(std::fmin(seconds, max_seconds) * 1e9);
  // 0 would mean none
  return rounded < 1 ? 1 : static_cast<std::int64_t>(rounded);
}

}  // namespace

RunTask::RunTask(const nb::object& timeout) {
  gantry_task_options options{};
  options.struct_size = sizeof options;
  options.deadline_ns = nanoseconds(timeout);
  if (PyThread_get_thread_ident() == main_thread) options.poll = poll_signals;
  if (options.poll == nullptr && options.deadline_ns == 0) return;
  gantry_object* task = nullptr;
  CallStatus status;
  status.check(embed().task_new(&options, &task, status.out()));
  task_ = OwnedObject::adopt(task);
}

void watch_signals() {
  const nb::object thread = nb::module_::import_("threading").attr("main_thread")();
  main_thread = nb::cast<unsigned long>(thread.attr("ident"));
}

}  // namespace gantry::python
