// SPDX-License-Identifier: Apache-2.0
//
// Functions of Python that compiled code calls.
#pragma once

#include <gantry/function.h>

#include <nanobind/nanobind.h>

#include <memory>
#include <string_view>

#include "api.hpp"

namespace gantry::python {

// One function of Python. The core keeps it until the runtime ends; the object of Python that has the
// runtime empties it before, so that cycles through the function are collected.
class KeptFunction {
 public:
  // thread   of all: holds the GIL
  explicit KeptFunction(nanobind::object function) : function_(function.release().ptr()) {}
  void empty() { Py_CLEAR(function_); }
  // returns  NULL: it was emptied
  PyObject* get() const { return function_; }

 private:
  PyObject* function_;
};

// A function that compiled code calls by name.
class Callback : public KeptFunction {
 public:
  // thread   holds the GIL
  Callback(RuntimeRef runtime, nanobind::object function);

 private:
  friend struct CallbackCall;
  // Borrowed: it empties this object when it ends.
  PyObject* owner_;
  const RuntimeHandle* handle_;
};

// Returns a function for function_add.
gantry_function function_of(std::shared_ptr<Callback> callback);

// The exception of the last function of Python that failed on this thread.
//
// thread   holds the GIL
void forget_callback_exception();
// Raises it, unchanged, if there is one and the text of an error contains its own.
void raise_callback_exception(std::string_view error_text);

}  // namespace gantry::python
