// SPDX-License-Identifier: Apache-2.0
//
// gantry._native: the classes of the package gantry over the C API for embedders.
#include <nanobind/nanobind.h>

#include "api.hpp"
#include "arguments.hpp"
#include "function.hpp"
#include "interpreter.hpp"
#include "model.hpp"
#include "run_task.hpp"
#include "runtime.hpp"
#include "tensor.hpp"

namespace nb = nanobind;

NB_MODULE(_native, module) {
  // Before CPython 3.12 a module cannot declare this.
  if (PyInterpreterState_GetID(PyInterpreterState_Get()) != 0)
    throw nb::import_error("gantry cannot be imported in a sub-interpreter");
  nb::set_leak_warnings(false);
  module.attr("version") = gantry::python::embed().version;
  gantry::python::watch_interpreter();
  gantry::python::watch_signals();
  module.def("watch_signals", gantry::python::watch_signals);
  gantry::python::bind_tensor(module);
  gantry::python::bind_object(module);
  gantry::python::bind_function(module);
  gantry::python::bind_runtime(module);
  gantry::python::bind_model(module);
}
