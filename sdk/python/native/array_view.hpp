// SPDX-License-Identifier: Apache-2.0
//
// Arrays of other packages as tensors: whatever has the buffer protocol (NumPy, array, memoryview)
// or DLPack (PyTorch, JAX, CuPy), and arrays of the element types of ml_dtypes.
#pragma once

#include <gantry/tensor.h>

#include <nanobind/nanobind.h>

#include <cstdint>
#include <vector>

#include "api.hpp"

namespace gantry::python {

// Borrows the memory of one array.
//
// thread   holds the GIL, also when it is destroyed
class ArrayView {
 public:
  ArrayView() = default;
  ArrayView(const ArrayView&) = delete;
  ArrayView& operator=(const ArrayView&) = delete;
  ~ArrayView();

  // Begins to borrow an array.
  //
  // runtime  [in]   imports tensors of DLPack
  // returns  false: the object is no array
  // throws   gantry.Error, reason ARRAY_FORMAT: elements that a tensor cannot have; READ_ONLY;
  //          the core's error for a tensor of DLPack; what the array raises
  bool read(nanobind::handle array, const RuntimeRef& runtime);
  bool write(nanobind::handle array, const RuntimeRef& runtime);

  // Copies the elements of an array on the CPU unless they are dense rows.
  //
  // returns  number of bytes that were copied
  std::uint64_t make_compact(nanobind::handle array, const RuntimeRef& runtime);

  bool is_compact() const { return strides_.empty(); }
  // Bytes that were copied because their strides are none of a tensor.
  std::uint64_t copied_bytes() const { return copied_bytes_; }
  // Valid as long as this object.
  const gantry_tensor& tensor() const { return tensor_; }
  // A value with this tensor: an object that the core imported, or borrowed.
  gantry_value value() const;
  void set_dtype(gantry_dtype dtype) { tensor_.dtype = dtype; }

 private:
  bool borrow(nanobind::handle array, const RuntimeRef& runtime, bool writes);
  bool borrow_buffer(nanobind::handle array, bool writes);
  bool borrow_named_dtype(nanobind::handle array, bool writes);
  void borrow_dlpack(nanobind::handle array, const RuntimeRef& runtime);
  void use_buffer(nanobind::handle array, gantry_dtype dtype);
  void use_copy(nanobind::handle array);

  gantry_tensor tensor_{};
  // of tensor_; empty: dense rows
  std::vector<std::int64_t> strides_;
  std::uint64_t copied_bytes_ = 0;
  Py_buffer buffer_{};
  // GANTRY_NONE unless the array was imported
  OwnedValue imported_;
};

}  // namespace gantry::python
