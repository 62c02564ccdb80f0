// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gantry/result.hpp>
#include <gantry/runtime/object.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace gantry {

// A DLPack tensor with an owner.
class Tensor : public Object {
 public:
  Tensor() = default;
  // Precondition: `object` is a tensor.
  explicit Tensor(Object object) : Object(std::move(object)) {}

  // Precondition of all functions below: not empty.
  gantry_tensor* dlpack() const;
  gantry_dtype dtype() const { return dlpack()->dtype; }
  std::span<const std::int64_t> shape() const {
    return {dlpack()->shape, static_cast<std::size_t>(dlpack()->ndim)};
  }
  std::uint64_t byte_size() const;
  // "float32[1, 64] on cpu:0"
  std::string describe() const;

  // Returns the address of the first element if the tensor is on the CPU, else NULL.
  void* data() const;
  // Precondition: data() is not NULL, and T has the size of an element.
  template <class T>
  std::span<T> elements() const {
    return {static_cast<T*>(data()), byte_size() / sizeof(T)};
  }
  // Returns row `index` of the first axis, a view with the other axes.
  //
  // returns  invalid  no such row, no axis, or the tensor is not dense
  Result<Tensor> row(std::int64_t index) const;
};

}  // namespace gantry
