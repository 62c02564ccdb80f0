// SPDX-License-Identifier: Apache-2.0
//
// Arrays of other packages as tensors: whatever has the buffer protocol (NumPy, array, memoryview)
// or DLPack (PyTorch, JAX, CuPy), and arrays of the element types of ml_dtypes.
#pragma once

#include <gantry/tensor.h>

#include <nanobind/nanobind.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "dlpack.hpp"

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

  // Begins to borrow an array. At most once.
  //
  // returns  false: the object is no array
  // throws   gantry.Error, reason ARRAY_FORMAT: elements that a tensor cannot have; ARRAY_READ_ONLY;
  //          what the array raises
  bool read(nanobind::handle array);
  bool write(nanobind::handle array);

  // Copies the elements unless they are dense rows.
  //
  // returns  number of bytes that were copied
  // throws   gantry.Error, reason ARRAY_DEVICE: elements on a device that are not dense rows
  std::uint64_t make_compact();

  bool is_compact() const { return steps_.empty(); }
  // Valid as long as this object.
  const gantry_tensor& tensor() const { return tensor_; }
  void set_dtype(gantry_dtype dtype) { tensor_.dtype = dtype; }

 private:
  bool borrow(nanobind::handle array, bool writes);
  bool borrow_buffer(nanobind::handle array, bool writes);
  bool borrow_named_dtype(nanobind::handle array, bool writes);
  void borrow_dlpack(nanobind::handle array, bool writes);
  void use_buffer(gantry_dtype dtype);
  void use_dlpack(const gantry_tensor& tensor);

  gantry_tensor tensor_{};
  // bytes from one element of an axis to the next; empty: dense rows
  std::vector<std::int64_t> steps_;
  Py_buffer buffer_{};
  dlpack::ManagedTensor* managed_ = nullptr;
  dlpack::VersionedTensor* versioned_ = nullptr;
  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };
  std::unique_ptr<void, Free> copy_;
};

}  // namespace gantry::python
