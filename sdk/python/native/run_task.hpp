// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

#include "api.hpp"

namespace gantry::python {

// The task of one run: cancelled by a signal whose handler raises, such as that of Ctrl-C, and by a
// deadline.
//
// thread   that of the run, holds the GIL
class RunTask {
 public:
  // timeout  [in]   seconds from now on, or None
  // throws   TypeError; ValueError: the timeout is negative, or no finite number
  explicit RunTask(const nanobind::object& timeout);

  // NULL: nothing can cancel the run.
  gantry_object* get() const { return task_.get(); }

 private:
  OwnedObject task_;
};

// Remembers the main thread of Python, the only one that runs handlers of signals. Called when
// the module is imported, and in the child of a fork, whose main thread is the one that forked.
void watch_signals();

}  // namespace gantry::python
