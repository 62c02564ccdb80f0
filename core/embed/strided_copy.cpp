// SPDX-License-Identifier: Apache-2.0
#include "core/embed/strided_copy.hpp"

#include <gantry/compact_tensor.hpp>
#include <gantry/dtype_text.hpp>
#include <gantry/tensor_text.hpp>

#include <cstdint>
#include <cstring>
#include <vector>

namespace gantry {
namespace {

// Copies the rows of the last axis one after the other, in row-major order.
class Gather {
 public:
  Gather(const gantry_tensor& from, std::size_t element)
      : shape_(shape_of(from)), strides_(from.strides), element_(element) {}

  void copy(const char* from, char* to) {
    const std::size_t rank = shape_.size();
    if (rank == 0) {
      std::memcpy(to, from, element_);
      return;
    }
    std::vector<std::int64_t> index(rank - 1);
    for (;;) {
      to = copy_row(from, to);
      std::size_t axis = rank - 1;
      for (; axis > 0; --axis) {
        from += step(axis - 1);
        if (++index[axis - 1] < shape_[axis - 1]) break;
        from -= step(axis - 1) * shape_[axis - 1];
        index[axis - 1] = 0;
      }
      if (axis == 0) return;
    }
  }

 private:
  // bytes between neighbours of an axis
  std::int64_t step(std::size_t axis) const {
    return strides_[axis] * static_cast<std::int64_t>(element_);
  }
  char* copy_row(const char* from, char* to) const {
    const std::size_t axis = shape_.size() - 1;
    const auto count = static_cast<std::size_t>(shape_[axis]);
    if (strides_[axis] == 1) {
      std::memcpy(to, from, count * element_);
      return to + count * element_;
    }
    for (std::size_t i = 0; i < count; ++i, from += step(axis), to += element_)
      std::memcpy(to, from, element_);
    return to;
  }

  std::span<const std::int64_t> shape_;
  const std::int64_t* strides_;
  std::size_t element_;
};

}  // namespace

Result<Ref<TensorObject>> compact_copy(const gantry_tensor& from, const DeviceSet& devices) {
  GANTRY_TRY(Ref<TensorObject> made,
             tensor_new(devices, compact_tensor(from.dtype, shape_of(from), from.device)));
  if (made->bytes == 0) return made;
  Gather(from, element_bytes(from.dtype))
      .copy(static_cast<const char*>(from.data) + from.byte_offset,
            static_cast<char*>(made->tensor.data));
  return made;
}

}  // namespace gantry
