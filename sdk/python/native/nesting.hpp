// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gantry/stack_room.hpp>

#include <nanobind/nanobind.h>

namespace gantry::python {

// Call before a level of recursion that a caller's value or a result drives. Throws RecursionError if
// the stack has no room for it, as for a list that contains itself.
//
// what     [in]   what recurses, in the plural
// thread   holds the GIL, which guards what is kept of the last thread
inline void check_nesting(const char* what) {
  static StackRoom room;
  room.enter();
  const Status status = room.check(what);
  if (status.ok()) return;
  PyErr_SetString(PyExc_RecursionError, status.error().message.text().c_str());
  throw nanobind::python_error();
}

}  // namespace gantry::python
