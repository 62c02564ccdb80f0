// SPDX-License-Identifier: Apache-2.0
#include "function.hpp"

#include <gantry/call.h>

#include <structmember.h>

#include <cstddef>
#include <exception>
#include <new>

#include "arguments.hpp"
#include "call_status.hpp"
#include "gil.hpp"
#include "numpy_layout.hpp"
#include "texts.hpp"

namespace nb = nanobind;

namespace gantry::python {
namespace {

struct FunctionObject {
  PyObject header;
  vectorcallfunc vectorcall;
  PyObject* name;
  RuntimeRef runtime;
  OwnedObject object;
};

// Owned by the module, which is never destroyed.
PyTypeObject* function_type = nullptr;

constexpr std::size_t max_quick_arguments = 8;

// Arguments that need no memory of their own: numbers and arrays of NumPy in dense rows.
struct QuickArguments {
  gantry_value values[max_quick_arguments];
  gantry_tensor tensors[max_quick_arguments];

  // returns  false: an argument is of another kind, or an exception is set
  bool read(PyObject* const* objects, std::size_t count) {
    if (count > max_quick_arguments) return false;
    for (std::size_t i = 0; i < count; ++i) {
      gantry_value& value = values[i];
      value = {};
      if (PyLong_CheckExact(objects[i])) {
        value.kind = GANTRY_INT;
        value.i = PyLong_AsLongLong(objects[i]);
        if (value.i == -1 && PyErr_Occurred() != nullptr) return false;
      } else if (PyFloat_CheckExact(objects[i])) {
        value.kind = GANTRY_FLOAT;
        value.f = PyFloat_AsDouble(objects[i]);
      } else if (describe_numpy_array(objects[i], tensors[i])) {
        value.kind = GANTRY_TENSOR_REF;
        value.tensor = &tensors[i];
      } else {
        return false;
      }
    }
    return true;
  }
};

nb::object call_values(const FunctionObject& function, const gantry_value* values,
                       std::size_t count) {
  const gantry_host* const host = function.runtime->host;
  CallStatus status;
  gantry_value result{};
  gantry_code code = GANTRY_OK;
  {
    const GilReleased released;
    code = gantry_call(host, function.object.get(), nullptr, values,
                       static_cast<std::int32_t>(count), &result, status.out());
  }
  // The results of nearly all calls.
  if (code == GANTRY_OK && result.kind == GANTRY_NONE) return nb::none();
  if (code == GANTRY_OK && result.kind == GANTRY_INT)
    return nb::steal(PyLong_FromLongLong(result.i));
  OwnedValue owned = OwnedValue::adopt(result);
  status.check(code);
  return object_of(function.runtime, std::move(owned), ResultForm::arrays);
}

nb::object call_function(const FunctionObject& function, PyObject* const* objects,
                         std::size_t count) {
  QuickArguments quick;
  if (quick.read(objects, count)) return call_values(function, quick.values, count);
  if (PyErr_Occurred() != nullptr) throw nb::python_error();
  // A function may write results to its arguments, which must not be lost in a copy.
  Arguments arguments(function.runtime, count, false, "and a function may write to its arguments");
  for (std::size_t i = 0; i < count; ++i) arguments.add(objects[i]);
  return call_values(function, arguments.values(), arguments.count());
}

PyObject* vectorcall(PyObject* self, PyObject* const* objects, std::size_t flagged_count,
                     PyObject* names) noexcept {
  if (names != nullptr && PyTuple_Size(names) != 0) {
    PyErr_SetString(PyExc_TypeError, "gantry.Function takes no keyword arguments");
    return nullptr;
  }
  const auto count = static_cast<std::size_t>(PyVectorcall_NARGS(flagged_count));
  try {
    return call_function(*reinterpret_cast<FunctionObject*>(self), objects, count).release().ptr();
  } catch (nb::python_error& error) {
    error.restore();
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return nullptr;
}

int traverse_function(PyObject* self, visitproc visit, void* arg) noexcept {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(reinterpret_cast<FunctionObject*>(self)->runtime.owner());
  return 0;
}

void dealloc(PyObject* self) noexcept {
  PyObject_GC_UnTrack(self);
  auto* const function = reinterpret_cast<FunctionObject*>(self);
  function->object.~OwnedObject();
  function->runtime.~RuntimeRef();
  Py_XDECREF(function->name);
  PyTypeObject* const type = Py_TYPE(self);
  PyObject_GC_Del(self);
  Py_DECREF(type);
}

PyObject* repr(PyObject* self) noexcept {
  return PyUnicode_FromFormat("<gantry.Function %R>",
                              reinterpret_cast<FunctionObject*>(self)->name);
}

PyMemberDef function_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(FunctionObject, vectorcall), READONLY, nullptr},
    {"__name__", T_OBJECT, offsetof(FunctionObject, name), READONLY, "Name in the module."},
    {nullptr, 0, 0, 0, nullptr}};

char function_documentation[] =
    "A function of a module: module[\"name\"].\n\n"
    "Arguments are None, bool, int, float, str, bytes, arrays, shapes (tuples of integers), "
    "lists,\n"
    "dictionaries, gantry.Tensor, gantry.Object and gantry.Function. Arrays are borrowed for the "
    "call,\nand written by functions that return results in their arguments. Lists and "
    "dictionaries are\ncopied; results are tuples and dictionaries.\n\n"
    "Code that TVM 0.12 compiled, for example, trusts the kinds of its arguments: an integer where "
    "it expects an\n"
    "array may end the process. Models check their inputs; functions of a module do not.";

PyType_Slot function_slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(traverse_function)},
                                {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
                                {Py_tp_repr, reinterpret_cast<void*>(repr)},
                                {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                                {Py_tp_members, function_members},
                                {Py_tp_doc, function_documentation},
                                {0, nullptr}};

PyType_Spec function_spec = {"gantry.Function", sizeof(FunctionObject), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
                                 Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
                             function_slots};

}  // namespace

nb::object new_function(const RuntimeRef& runtime, OwnedObject object, std::string_view name) {
  nb::str name_object = str_of(name);
  auto* const made = PyObject_GC_New(FunctionObject, function_type);
  if (made == nullptr) throw nb::python_error();
  made->vectorcall = vectorcall;
  made->name = name_object.release().ptr();
  new (&made->runtime) RuntimeRef(runtime);
  new (&made->object) OwnedObject(std::move(object));
  PyObject_GC_Track(&made->header);
  return nb::steal(&made->header);
}

gantry_object* function_in(nb::handle object) {
  if (Py_TYPE(object.ptr()) != function_type) return nullptr;
  return reinterpret_cast<FunctionObject*>(object.ptr())->object.get();
}

void bind_function(nb::module_& module) {
  function_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&function_spec));
  if (function_type == nullptr) throw nb::python_error();
  module.attr("Function") = nb::borrow(reinterpret_cast<PyObject*>(function_type));
}

}  // namespace gantry::python
