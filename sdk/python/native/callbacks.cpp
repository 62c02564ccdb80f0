// SPDX-License-Identifier: Apache-2.0
#include "callbacks.hpp"

#include <gantry/status.h>
#include <gantry/concat.hpp>

#include <exception>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "arguments.hpp"
#include "call_status.hpp"
#include "gil.hpp"
#include "interpreter.hpp"
#include "tensor.hpp"

namespace nb = nanobind;

namespace gantry::python {
namespace {

// Owned. NULL: none.
thread_local PyObject* failed_with = nullptr;

// The class and the text of an exception: "ValueError: too small".
std::string exception_text(nb::handle exception) {
  PyObject* const text = PyObject_Str(exception.ptr());
  // of the limited interface of 3.12, unlike PyUnicode_AsUTF8()
  const char* const characters = text != nullptr ? PyUnicode_AsUTF8AndSize(text, nullptr) : nullptr;
  std::string all = nb::str(exception.type().attr("__name__")).c_str();
  if (characters != nullptr && *characters != 0) all += concat(": ", characters);
  PyErr_Clear();
  Py_XDECREF(text);
  return all;
}

gantry_code fail_with_exception(nb::python_error& error, gantry_status* status) {
  error.restore();
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  if (traceback != nullptr) PyException_SetTraceback(value, traceback);
  Py_XDECREF(type);
  Py_XDECREF(traceback);
  forget_callback_exception();
  failed_with = value;
  const std::string text = exception_text(value);
  return gantry_fail(status, GANTRY_INVALID, "PYTHON_EXCEPTION", text.c_str());
}

}  // namespace

// One call. Arrays that compiled code lends are valid until it ends.
struct CallbackCall {
  const Callback& callback;
  RuntimeRef runtime = RuntimeRef(nb::borrow(callback.owner_), callback.handle_);
  // gantry.Tensor of arguments that are borrowed
  std::vector<nb::object> borrowed{};

  nb::object argument(const gantry_value& value) {
    if (value.kind != GANTRY_TENSOR_REF)
      return object_of(runtime, OwnedValue::share(value), ResultForm::arrays);
    const gantry_host* const host = runtime->host;
    CallStatus status;
    OwnedValue view;
    status.check(host->tensor_view(host, value.tensor, nullptr, 0, view.slot(), status.out()));
    nb::object tensor = nb::cast(Tensor(runtime, std::move(view)));
    borrowed.push_back(tensor);
    return numpy_or_tensor(std::move(tensor));
  }

  OwnedValue run(const gantry_value* args, std::int32_t count) {
    const nb::object function = nb::borrow(callback.get());
    nb::list list;
    for (std::int32_t i = 0; i < count; ++i) list.append(argument(args[i]));
    nb::tuple arguments(list);
    list = nb::list();
    PyObject* const returned = PyObject_Call(function.ptr(), arguments.ptr(), nullptr);
    arguments = nb::tuple();
    if (returned == nullptr) throw nb::python_error();
    return Arguments(runtime, 0, true).owned(nb::steal(returned));
  }

  // True if an argument that was borrowed is still in use.
  bool keeps_borrowed() const {
    for (const nb::object& tensor : borrowed)
      if (Py_REFCNT(tensor.ptr()) > 1) return true;
    return false;
  }

  static gantry_code call(void* self, const gantry_env*, const gantry_value* args,
                          std::int32_t count, gantry_value* result,
                          gantry_status* status) noexcept {
    const Callback& callback = **static_cast<std::shared_ptr<Callback>*>(self);
    if (!interpreter_runs())
      return gantry_fail(status, GANTRY_UNAVAILABLE, "PYTHON_ENDED", "Python has begun to end");
    const GilAcquired acquired;
    if (callback.get() == nullptr)
      return gantry_fail(status, GANTRY_UNAVAILABLE, "PYTHON_ENDED", "the runtime has ended");
    try {
      CallbackCall made{callback};
      OwnedValue value = made.run(args, count);
      if (made.keeps_borrowed()) {
        return gantry_fail(status, GANTRY_INVALID, "ARGUMENT_KEPT",
                           "the function keeps or returns an array that is valid during its call");
      }
      *result = value.take();
      return GANTRY_OK;
    } catch (nb::python_error& error) {
      return fail_with_exception(error, status);
    } catch (const std::bad_alloc&) {
      return gantry_fail(status, GANTRY_EXHAUSTED, "", "no memory for the call of a function");
    } catch (const std::exception& error) {
      return gantry_fail(status, GANTRY_BUG, "", error.what());
    }
  }
};

Callback::Callback(RuntimeRef runtime, nb::object function)
    : KeptFunction(std::move(function)), owner_(runtime.owner()), handle_(runtime.operator->()) {}

gantry_function function_of(std::shared_ptr<Callback> callback) {
  static constexpr gantry_function_table table = {
      .struct_size = sizeof(gantry_function_table),
      .flags = 0,
      .destroy = [](void* self) { delete static_cast<std::shared_ptr<Callback>*>(self); },
      .call = CallbackCall::call};
  return {new std::shared_ptr<Callback>(std::move(callback)), &table};
}

void forget_callback_exception() { Py_CLEAR(failed_with); }

void raise_callback_exception(std::string_view error_text) {
  if (failed_with == nullptr) return;
  PyObject* const value = std::exchange(failed_with, nullptr);
  if (error_text.find(exception_text(value)) == std::string_view::npos) return Py_DECREF(value);
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(value)), value);
  Py_DECREF(value);
  throw nb::python_error();
}

}  // namespace gantry::python
