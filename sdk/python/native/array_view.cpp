// SPDX-License-Identifier: Apache-2.0
#include "array_view.hpp"

#include <gantry/concat.hpp>
#include <gantry/device_name.hpp>
#include <gantry/dtype_text.hpp>
#include <gantry/quoted.hpp>
#include <gantry/tensor_text.hpp>

#include <string>
#include <type_traits>

#include "call_status.hpp"
#include "dlpack.hpp"
#include "dtypes.hpp"
#include "gil.hpp"
#include "tensor.hpp"

namespace nb = nanobind;

namespace gantry::python {
namespace {

constexpr std::int32_t cuda_device_type = 2;
constexpr std::int32_t rocm_device_type = 10;

std::string class_name(nb::handle object) {
  return nb::str(object.type().attr("__name__")).c_str();
}

// Calls __dlpack__ as version 1.0 of DLPack defines it, or as earlier versions do.
nb::object dlpack_capsule(nb::handle array, std::int32_t device_type) {
  nb::dict named;
  named["max_version"] = nb::make_tuple(1, 0);
  // Work of the default stream follows the work that produces the tensor.
  if (device_type == cuda_device_type) named["stream"] = nb::int_(1);
  if (device_type == rocm_device_type) named["stream"] = nb::int_(0);
  const nb::object method = array.attr("__dlpack__");
  try {
    return method(**named);
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_TypeError)) throw;
  }
  nb::del(named["max_version"]);
  return method(**named);
}

std::int32_t dlpack_device_type(nb::handle array) {
  const nb::object device = array.attr("__dlpack_device__")();
  return static_cast<std::int32_t>(PyLong_AsLong(nb::int_(device[0]).ptr()));
}

}  // namespace

ArrayView::~ArrayView() { PyBuffer_Release(&buffer_); }

bool ArrayView::read(nb::handle array, const RuntimeRef& runtime) {
  return borrow(array, runtime, false);
}

bool ArrayView::write(nb::handle array, const RuntimeRef& runtime) {
  if (!borrow(array, runtime, true)) return false;
  if (!is_compact() || copied_bytes_ != 0)
    refuse("ARGUMENT_STRIDES",
           concat("output array ", tensor_text(tensor_), " has strides, ", "expected dense rows"));
  return true;
}

gantry_value ArrayView::value() const {
  const bool is_boolean =
      tensor_.dtype.code == static_cast<std::uint8_t>(TypeCode::bool_) || tensor_.dtype.bits == 1;
  if (imported_.get().kind != GANTRY_NONE && !is_boolean) return imported_.get();
  gantry_value value{};
  value.kind = GANTRY_TENSOR_REF;
  value.tensor = const_cast<gantry_tensor*>(&tensor_);
  return value;
}

bool ArrayView::borrow(nb::handle array, const RuntimeRef& runtime, bool writes) {
  if (PyObject_CheckBuffer(array.ptr())) {
    if (borrow_buffer(array, writes)) return true;
    nb::python_error refused;
    if (writes && borrow_buffer(array, false))
      refuse("READ_ONLY", concat("output array of type ", class_name(array), " is read-only"));
    PyErr_Clear();
    const bool has_dlpack = nb::hasattr(array, "__dlpack__");
    const bool is_elsewhere = has_dlpack && dlpack_device_type(array) != cpu_device_type;
    if (!is_elsewhere && borrow_named_dtype(array, writes)) return true;
    if (!has_dlpack) throw refused;
  } else if (!nb::hasattr(array, "__dlpack__")) {
    return false;
  }
  borrow_dlpack(array, runtime);
  return true;
}

// returns  false: an exception is set
bool ArrayView::borrow_buffer(nb::handle array, bool writes) {
  const int flags = PyBUF_STRIDES | PyBUF_FORMAT;
  if (PyObject_GetBuffer(array.ptr(), &buffer_, flags | (writes ? PyBUF_WRITABLE : 0)) != 0) {
    buffer_ = {};
    return false;
  }
  const auto dtype = dtype_of_format(buffer_.format, buffer_.itemsize);
  if (!dtype) {
    refuse("ARRAY_FORMAT", concat("elements of ", class_name(array), " have the format ",
                                  quoted(buffer_.format != nullptr ? buffer_.format : "B"), " and ",
                                  buffer_.itemsize, " bytes, which no tensor has"));
  }
  use_buffer(array, *dtype);
  return true;
}

// Reads an array of ml_dtypes, whose elements the buffer protocol cannot describe, by the name of
// its element type.
bool ArrayView::borrow_named_dtype(nb::handle array, bool writes) {
  if (!nb::hasattr(array, "dtype") || !nb::hasattr(array, "view")) return false;
  const nb::object type = array.attr("dtype");
  if (!nb::hasattr(type, "name") || !nb::hasattr(type, "itemsize")) return false;
  const nb::str name(type.attr("name"));
  const auto dtype = parse_dtype(name.c_str());
  const auto item_bytes = nb::cast<std::int64_t>(type.attr("itemsize"));
  if (!dtype.ok() || dtype->bits * std::int64_t{dtype->lanes} != item_bytes * 8) return false;
  const char* const bytes = item_bytes == 1 ? "uint8" : item_bytes == 2 ? "uint16" : nullptr;
  if (bytes == nullptr) return false;
  if (!borrow_buffer(array.attr("view")(bytes), writes)) throw nb::python_error();
  tensor_.dtype = *dtype;
  return true;
}

void ArrayView::use_buffer(nb::handle array, gantry_dtype dtype) {
  static_assert(std::is_same_v<Py_ssize_t, std::int64_t>);
  tensor_ = {buffer_.buf, {cpu_device_type, 0}, buffer_.ndim, dtype, buffer_.shape, nullptr, 0};
  if (PyBuffer_IsContiguous(&buffer_, 'C')) return;
  for (int axis = 0; axis < buffer_.ndim; ++axis) {
    // Such as a field of records: strides of tensors count elements.
    if (buffer_.strides[axis] % buffer_.itemsize != 0) return use_copy(array);
    strides_.push_back(buffer_.strides[axis] / buffer_.itemsize);
  }
  tensor_.strides = strides_.data();
}

// Replaces an array that has the buffer protocol by a copy in dense rows.
void ArrayView::use_copy(nb::handle array) {
  const nb::object copy = nb::module_::import_("numpy").attr("ascontiguousarray")(array);
  const gantry_dtype dtype = tensor_.dtype;
  PyBuffer_Release(&buffer_);
  strides_.clear();
  // The buffer keeps the copy.
  if (!borrow_buffer(copy, false)) throw nb::python_error();
  tensor_.dtype = dtype;
  copied_bytes_ += static_cast<std::uint64_t>(buffer_.len);
}

void ArrayView::borrow_dlpack(nb::handle array, const RuntimeRef& runtime) {
  const nb::object capsule = dlpack_capsule(array, dlpack_device_type(array));
  PyObject* const object = capsule.ptr();
  const bool is_versioned = PyCapsule_IsValid(object, dlpack::versioned_name) != 0;
  if (!is_versioned && !PyCapsule_IsValid(object, dlpack::managed_name))
    refuse("ARRAY_FORMAT", concat("__dlpack__ of ", class_name(array), " returns no new tensor"));
  const char* const name = is_versioned ? dlpack::versioned_name : dlpack::managed_name;
  void* const managed = PyCapsule_GetPointer(object, name);
  CallStatus status;
  gantry_code code = GANTRY_OK;
  {
    const GilReleased released;
    code = embed().dlpack_import(
        runtime->runtime.get(),
        is_versioned ? static_cast<DLManagedTensorVersioned*>(managed) : nullptr,
        is_versioned ? nullptr : static_cast<DLManagedTensor*>(managed), imported_.slot(),
        status.out());
  }
  // After a failure the capsule still owns its tensor.
  status.check(code);
  PyCapsule_SetName(object, is_versioned ? dlpack::used_versioned_name : dlpack::used_managed_name);
  tensor_ = *gantry_value_tensor(&imported_.get());
  if (gantry::is_compact(tensor_)) {
    tensor_.strides = nullptr;
  } else {
    strides_.assign(tensor_.strides, tensor_.strides + tensor_.ndim);
  }
}

std::uint64_t ArrayView::make_compact(nb::handle array, const RuntimeRef& runtime) {
  if (is_compact()) return copied_bytes_;
  if (tensor_.device.type != cpu_device_type) {
    refuse("ARRAY_DEVICE",
           concat("array ", tensor_text(tensor_), " on ", device_name(runtime, tensor_.device),
                  " has strides, expected dense rows"));
  }
  if (imported_.get().kind == GANTRY_NONE) {
    use_copy(array);
    return copied_bytes_;
  }
  const nb::object numpy = nb::module_::import_("numpy");
  const nb::object copy = numpy.attr("ascontiguousarray")(numpy.attr("from_dlpack")(array));
  imported_ = OwnedValue();
  strides_.clear();
  if (!borrow(copy, runtime, false)) throw nb::python_error();
  copied_bytes_ += static_cast<std::uint64_t>(buffer_.len);
  return copied_bytes_;
}

}  // namespace gantry::python
