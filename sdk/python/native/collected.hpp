// SPDX-License-Identifier: Apache-2.0
//
// Classes whose objects the cyclic garbage collector follows to their runtime.
#pragma once

#include <nanobind/nanobind.h>

#include "api.hpp"

namespace gantry::python {

// The slot tp_traverse of a class with a function `const RuntimeRef& runtime() const`.
template <class T>
int traverse_runtime(PyObject* self, visitproc visit, void* arg) noexcept {
  Py_VISIT(Py_TYPE(self));
  if (nanobind::inst_ready(self)) Py_VISIT(nanobind::inst_ptr<T>(self)->runtime().owner());
  return 0;
}

// For nanobind::type_slots.
template <class T>
inline PyType_Slot collected_slots[] = {
    {Py_tp_traverse, reinterpret_cast<void*>(traverse_runtime<T>)}, {0, nullptr}};

}  // namespace gantry::python
