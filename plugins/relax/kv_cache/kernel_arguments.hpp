// SPDX-License-Identifier: Apache-2.0
//
// The arguments of the kernels that a KV cache calls.
#pragma once

#include <gantry/value.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>

namespace gantry::relax {

// A compact tensor that contains its shape.
class TensorArgument {
 public:
  // memory   [in]   data and device; other members are ignored
  // extents  [in]   at most 4
  TensorArgument(const gantry_tensor& memory, gantry_dtype dtype, std::uint64_t byte_offset,
                 std::initializer_list<std::int64_t> extents)
      : tensor_(memory) {
    std::ranges::copy(extents, extents_.begin());
    tensor_.dtype = dtype;
    tensor_.ndim = static_cast<std::int32_t>(extents.size());
    tensor_.strides = nullptr;
    tensor_.byte_offset = byte_offset;
  }
  // Valid as long as the object, and until it is moved.
  const gantry_tensor& get() {
    tensor_.shape = extents_.data();
    return tensor_;
  }
  gantry_value value() {
    tensor_.shape = extents_.data();
    return tensor_ref_value(&tensor_);
  }

 private:
  gantry_tensor tensor_;
  std::array<std::int64_t, 4> extents_{};
};

// The argument list of one call. Values are borrowed.
class KernelArguments {
 public:
  void add(const gantry_value& value) { values_[count_++] = value; }
  // The kernels take tensors as borrowed, and do not change this record.
  void add(const gantry_tensor& tensor) {
    add(tensor_ref_value(const_cast<gantry_tensor*>(&tensor)));
  }
  std::span<const gantry_value> get() const { return {values_.data(), count_}; }

 private:
  // paged prefill has the most, 15
  static constexpr std::size_t max_count = 16;

  std::array<gantry_value, max_count> values_;
  std::size_t count_ = 0;
};

}  // namespace gantry::relax
