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
class Callback {
 public:
  // thread   of all: holds the GIL
  Callback(RuntimeRef runtime, nanobind::object function);
  void empty();
  PyObject* function() const { return function_; }

 private:
  friend struct CallbackCall;
  // Borrowed: it empties this object when it ends.
  PyObject* owner_;
  const RuntimeHandle* handle_;
  PyObject* function_;
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
