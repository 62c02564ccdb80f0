// SPDX-License-Identifier: Apache-2.0
#include "arguments.hpp"

#include <gantry/concat.hpp>
#include <gantry/dtype_text.hpp>
#include <gantry/tensor_text.hpp>
#include <gantry/zero_copy.hpp>

#include <string>
#include <utility>

#include "call_status.hpp"
#include "function.hpp"
#include "gil.hpp"
#include "interpreter.hpp"
#include "nesting.hpp"
#include "opaque.hpp"
#include "tensor.hpp"
#include "texts.hpp"

namespace nb = nanobind;

namespace gantry::python {
namespace {

std::string_view bytes_in(nb::handle bytes) {
  return {PyBytes_AsString(bytes.ptr()), static_cast<std::size_t>(PyBytes_Size(bytes.ptr()))};
}

gantry_value number(std::int32_t kind, std::int64_t integer) {
  gantry_value value{};
  value.kind = kind;
  value.i = integer;
  return value;
}

// Reads an object that a value holds without a reference.
//
// returns  false: it is of another type
bool read_number(nb::handle object, gantry_value& value) {
  if (object.is_none()) {
    value = {};
  } else if (PyBool_Check(object.ptr())) {
    value = number(GANTRY_BOOL, object.is(nb::handle(Py_True)) ? 1 : 0);
  } else if (PyLong_Check(object.ptr())) {
    const std::int64_t integer = PyLong_AsLongLong(object.ptr());
    if (integer == -1 && PyErr_Occurred()) throw nb::python_error();
    value = number(GANTRY_INT, integer);
  } else if (PyFloat_Check(object.ptr())) {
    value = number(GANTRY_FLOAT, 0);
    value.f = PyFloat_AsDouble(object.ptr());
  } else {
    return false;
  }
  return true;
}

bool is_shape(nb::handle object) {
  if (!PyTuple_Check(object.ptr()) || PyTuple_Size(object.ptr()) == 0) return false;
  for (const nb::handle item : nb::borrow<nb::tuple>(object))
    if (!PyLong_CheckExact(item.ptr())) return false;
  return true;
}

// Called on any thread when no tensor uses the memory of an array any more.
void destroy_view(void* self) {
  // The memory of the process ends with the interpreter.
  if (!interpreter_runs()) return;
  const GilAcquired acquired;
  delete static_cast<ArrayView*>(self);
}

}  // namespace

bool is_boolean(const gantry_value& value) {
  return value.kind == GANTRY_TENSOR_REF &&
         value.tensor->dtype.code == static_cast<std::uint8_t>(TypeCode::bool_);
}

Arguments::Arguments(RuntimeRef runtime, std::size_t max_count, bool as_objects,
                     std::string_view no_copies)
    : runtime_(std::move(runtime)),
      as_objects_(as_objects),
      no_copies_(no_copies),
      views_(max_count) {
  values_.reserve(max_count);
}

void Arguments::add(nb::handle object) {
  gantry_value value{};
  if (!read_number(object, value)) {
    if (add_array(object)) return;
    owned_.push_back(owned(object));
    value = owned_.back().get();
  }
  values_.push_back(value);
}

bool Arguments::add_array(nb::handle object) {
  PyObject* const python = object.ptr();
  if (PyBytes_Check(python) || PyUnicode_Check(python) || nb::isinstance<Tensor>(object))
    return false;
  auto view = std::make_unique<ArrayView>();
  if (!view->read(object, runtime_)) return false;
  check_copy(*view);
  copied_bytes_ += view->copied_bytes();
  gantry_value value = view->value();
  has_booleans_ |= is_boolean(value);
  const bool is_usable = view->is_compact() && view->tensor().byte_offset == 0 &&
                         is_aligned_in_place(view->tensor().data, in_place_alignment_since_v0_10);
  if (as_objects_ && value.kind == GANTRY_TENSOR_REF && is_usable && !is_boolean(value)) {
    owned_.push_back(foreign(std::move(view)));
    value = owned_.back().get();
  } else {
    views_[values_.size()] = std::move(view);
  }
  values_.push_back(value);
  return true;
}

void Arguments::check_copy(const ArrayView& view) const {
  if (no_copies_.empty() || (view.is_compact() && view.copied_bytes() == 0)) return;
  refuse("COPY_REQUIRED", concat("array ", tensor_text(view.tensor()),
                                 " has strides and must be copied, ", no_copies_));
}

void Arguments::set_boolean_dtype(std::size_t index, gantry_dtype dtype) {
  if (is_boolean(values_[index])) views_[index]->set_dtype(dtype);
}

OwnedValue Arguments::owned(nb::handle object) {
  PyObject* const python = object.ptr();
  gantry_value value{};
  if (read_number(object, value)) return OwnedValue::adopt(value);
  if (PyUnicode_Check(python)) return owned_text(GANTRY_STRING, text_in(object));
  if (PyBytes_Check(python)) return owned_text(GANTRY_BYTES, bytes_in(object));
  if (nb::isinstance<Tensor>(object))
    return OwnedValue::share(nb::cast<const Tensor&>(object).value().get());
  if (nb::isinstance<Opaque>(object))
    return OwnedValue::share(nb::cast<const Opaque&>(object).value().get());
  if (gantry_object* const function = function_in(object)) {
    value.kind = GANTRY_FUNCTION;
    value.object = function;
    return OwnedValue::share(value);
  }
  if (is_shape(object)) return owned_shape(object);
  if (PyTuple_Check(python) || PyList_Check(python)) return owned_items(object);
  if (PyDict_Check(python)) return owned_map(object);
  auto view = std::make_unique<ArrayView>();
  if (view->read(object, runtime_)) {
    check_copy(*view);
    copied_bytes_ += view->make_compact(object, runtime_);
    const gantry_value made = view->value();
    return made.kind == GANTRY_TENSOR ? OwnedValue::share(made) : foreign(std::move(view));
  }
  PyErr_Format(PyExc_TypeError,
               "%R is no argument: expected an array, None, bool, int, float, str, bytes, tuple, "
               "list, dict, gantry.Tensor, gantry.Function or gantry.Object",
               reinterpret_cast<PyObject*>(Py_TYPE(python)));
  throw nb::python_error();
}

OwnedValue Arguments::owned_text(std::int32_t kind, std::string_view text) {
  CallStatus status;
  OwnedValue value;
  const gantry_host* const host = runtime_->host;
  status.check(host->text_new(host, kind, bytes_of(text), value.slot(), status.out()));
  return value;
}

OwnedValue Arguments::owned_shape(nb::handle tuple) {
  std::vector<std::int64_t> extents;
  for (const nb::handle item : nb::borrow<nb::tuple>(tuple)) {
    gantry_value extent{};
    read_number(item, extent);
    extents.push_back(extent.i);
  }
  CallStatus status;
  OwnedValue shape;
  const gantry_host* const host = runtime_->host;
  status.check(host->shape_new(host, extents.data(), extents.size(), shape.slot(), status.out()));
  return shape;
}

OwnedValue Arguments::new_items(std::int32_t kind, const std::vector<gantry_value>& values) const {
  CallStatus status;
  OwnedValue items;
  const gantry_host* const host = runtime_->host;
  status.check(
      host->items_new(host, kind, values.data(), values.size(), items.slot(), status.out()));
  return items;
}

OwnedValue Arguments::owned_items(nb::handle sequence) {
  check_nesting("lists and dictionaries in an argument");
  std::vector<OwnedValue> items;
  std::vector<gantry_value> values;
  for (const nb::handle item : nb::borrow<nb::sequence>(sequence)) {
    items.push_back(owned(item));
    values.push_back(items.back().get());
  }
  return new_items(GANTRY_ARRAY, values);
}

OwnedValue Arguments::owned_map(nb::handle dict) {
  check_nesting("lists and dictionaries in an argument");
  std::vector<OwnedValue> items;
  std::vector<gantry_value> values;
  for (const auto& [key, item] : nb::borrow<nb::dict>(dict)) {
    for (const nb::handle part : {key, item}) {
      items.push_back(owned(part));
      values.push_back(items.back().get());
    }
  }
  return new_items(GANTRY_MAP, values);
}

// Returns an object that uses the memory of an array.
OwnedValue Arguments::foreign(std::unique_ptr<ArrayView> view) {
  const gantry_tensor& what = view->tensor();
  const auto bytes = tensor_bytes(shape_of(what), what.dtype);
  if (!bytes.ok()) refuse("ARGUMENT_SHAPE", bytes.error().message);
  CallStatus status;
  OwnedValue tensor;
  status.check(embed().tensor_foreign(runtime_->runtime.get(), &what, what.byte_offset + *bytes, 0,
                                      view.get(), destroy_view, tensor.slot(), status.out()));
  view.release();
  return tensor;
}

}  // namespace gantry::python
