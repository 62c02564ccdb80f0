// SPDX-License-Identifier: Apache-2.0
#include "array_view.hpp"

#include <gantry/concat.hpp>
#include <gantry/device_name.hpp>
#include <gantry/dtype_text.hpp>
#include <gantry/quoted.hpp>
#include <gantry/tensor_text.hpp>
#include <gantry/zero_copy.hpp>

#include <algorithm>
#include <new>
#include <string>
#include <type_traits>

#include "call_status.hpp"
#include "compact_copy.hpp"
#include "dtypes.hpp"

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

ArrayView::~ArrayView() {
  if (managed_ != nullptr && managed_->deleter != nullptr) managed_->deleter(managed_);
  if (versioned_ != nullptr && versioned_->deleter != nullptr) versioned_->deleter(versioned_);
  PyBuffer_Release(&buffer_);
}

bool ArrayView::read(nb::handle array) { return borrow(array, false); }

bool ArrayView::write(nb::handle array) {
  if (!borrow(array, true)) return false;
  if (!is_compact())
    refuse("ARGUMENT_STRIDES",
           concat("output array ", tensor_text(tensor_), " has strides, ", "expected dense rows"));
  return true;
}

bool ArrayView::borrow(nb::handle array, bool writes) {
  if (PyObject_CheckBuffer(array.ptr())) {
    if (borrow_buffer(array, writes)) return true;
    nb::python_error refused;
    if (writes && borrow_buffer(array, false))
      refuse("ARRAY_READ_ONLY",
             concat("output array of type ", class_name(array), " is read-only"));
    PyErr_Clear();
    if (borrow_named_dtype(array, writes)) return true;
    if (!nb::hasattr(array, "__dlpack__")) throw refused;
  } else if (!nb::hasattr(array, "__dlpack__")) {
    return false;
  }
  borrow_dlpack(array, writes);
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
  use_buffer(*dtype);
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

void ArrayView::use_buffer(gantry_dtype dtype) {
  static_assert(std::is_same_v<Py_ssize_t, std::int64_t>);
  tensor_ = {buffer_.buf, {cpu_device_type, 0}, buffer_.ndim, dtype, buffer_.shape, nullptr, 0};
  if (PyBuffer_IsContiguous(&buffer_, 'C')) return;
  steps_.assign(buffer_.strides, buffer_.strides + buffer_.ndim);
}

void ArrayView::borrow_dlpack(nb::handle array, bool writes) {
  const nb::object capsule = dlpack_capsule(array, dlpack_device_type(array));
  PyObject* const object = capsule.ptr();
  if (PyCapsule_IsValid(object, dlpack::versioned_name)) {
    auto* const tensor =
        static_cast<dlpack::VersionedTensor*>(PyCapsule_GetPointer(object, dlpack::versioned_name));
    if (tensor->major != 1)
      refuse("ARRAY_FORMAT", concat(class_name(array), " exports version ", tensor->major,
                                    " of DLPack, supported is 1"));
    if (writes && (tensor->flags & dlpack::is_read_only) != 0)
      refuse("ARRAY_READ_ONLY",
             concat("output array of type ", class_name(array), " is read-only"));
    PyCapsule_SetName(object, dlpack::used_versioned_name);
    versioned_ = tensor;
    return use_dlpack(tensor->tensor);
  }
  if (!PyCapsule_IsValid(object, dlpack::managed_name))
    refuse("ARRAY_FORMAT", concat("__dlpack__ of ", class_name(array), " returns no new tensor"));
  managed_ =
      static_cast<dlpack::ManagedTensor*>(PyCapsule_GetPointer(object, dlpack::managed_name));
  PyCapsule_SetName(object, dlpack::used_managed_name);
  use_dlpack(managed_->tensor);
}

void ArrayView::use_dlpack(const gantry_tensor& tensor) {
  tensor_ = tensor;
  if (gantry::is_compact(tensor)) {
    tensor_.strides = nullptr;
    return;
  }
  const auto item_bytes = static_cast<std::int64_t>(element_bytes(tensor.dtype));
  for (std::int32_t axis = 0; axis < tensor.ndim; ++axis)
    steps_.push_back(tensor.strides[axis] * item_bytes);
}

std::uint64_t ArrayView::make_compact() {
  if (is_compact()) return 0;
  if (tensor_.device.type != cpu_device_type) {
    refuse("ARRAY_DEVICE",
           concat("array ", tensor_text(tensor_), " on ", device_text(tensor_.device),
                  " has strides, expected dense rows"));
  }
  const auto bytes = tensor_bytes(shape_of(tensor_), tensor_.dtype);
  if (!bytes.ok()) refuse("ARGUMENT_SHAPE", bytes.error().message);
  // a multiple of the alignment, and not 0
  const std::uint64_t size = (*bytes / in_place_alignment + 1) * in_place_alignment;
  copy_.reset(std::aligned_alloc(in_place_alignment, size));
  if (copy_ == nullptr) throw std::bad_alloc();
  copy_compact(tensor_, steps_.data(), element_bytes(tensor_.dtype), copy_.get());
  steps_.clear();
  tensor_.data = copy_.get();
  tensor_.strides = nullptr;
  tensor_.byte_offset = 0;
  return *bytes;
}

}  // namespace gantry::python
