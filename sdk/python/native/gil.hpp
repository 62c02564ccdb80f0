// SPDX-License-Identifier: Apache-2.0
//
// The interpreter's lock, also while the interpreter ends. CPython before 3.14 ends a thread that takes the lock then, from inside
// of its function, by pthread_exit(): that would unwind through frames of C++ that must not be unwound, and terminate the process.
// Here the thread waits for the end of the process instead, as CPython 3.14 does.
#pragma once

#include <nanobind/nanobind.h>

#include <cxxabi.h>
#include <unistd.h>

namespace gantry::python {

// take     [in]   takes the lock
template <class Take>
void take_lock(const Take& take) noexcept {
  try {
    take();
  } catch (const abi::__forced_unwind&) {
    // Not rethrown: the thread does not end.
    for (;;) ::pause();
  }
}

// Without the lock in its scope.
class GilReleased {
 public:
  GilReleased() noexcept : state_(PyEval_SaveThread()) {}
  ~GilReleased() {
    take_lock([&] { PyEval_RestoreThread(state_); });
  }
  GilReleased(const GilReleased&) = delete;
  GilReleased& operator=(const GilReleased&) = delete;

 private:
  PyThreadState* state_;
};

// With the lock in its scope, on any thread.
class GilAcquired {
 public:
  GilAcquired() noexcept {
    take_lock([&] { state_ = PyGILState_Ensure(); });
  }
  ~GilAcquired() { PyGILState_Release(state_); }
  GilAcquired(const GilAcquired&) = delete;
  GilAcquired& operator=(const GilAcquired&) = delete;

 private:
  PyGILState_STATE state_{};
};

}  // namespace gantry::python
