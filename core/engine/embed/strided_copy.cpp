// SPDX-License-Identifier: Apache-2.0
#include "core/engine/embed/strided_copy.hpp"

#include <gantry/byte_count.hpp>
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

  void copy(const char* from, char* to) const {
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

// Bytes from the first byte of the elements in memory to the element with the indices 0, and to the
// end of the last one.
struct Extent {
  std::uint64_t before = 0;
  std::uint64_t after = 0;
};

// from     [in]   with strides and at least one element
Extent extent_of(const gantry_tensor& from) {
  const std::uint64_t element = element_bytes(from.dtype);
  Extent extent{0, element};
  const auto shape = shape_of(from);
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const std::int64_t last = (shape[axis] - 1) * from.strides[axis];
    if (last < 0) {
      extent.before += static_cast<std::uint64_t>(-last) * element;
    } else {
      extent.after += static_cast<std::uint64_t>(last) * element;
    }
  }
  return extent;
}

// The memory of a tensor from its first to its last element, as bytes.
//
// shape    [out]  of the result
Result<gantry_tensor> memory_of(const gantry_tensor& from, const Extent& extent,
                                const DeviceSet& devices, std::int64_t& shape) {
  GANTRY_TRY(const auto device, devices.lend(from.device.type));
  shape = static_cast<std::int64_t>(extent.before + extent.after);
  gantry_tensor memory = compact_tensor(dtypes::uint8, {&shape, 1}, from.device, from.data);
  if ((device->table->flags & GANTRY_DEVICE_OPAQUE_DATA) == 0) {
    memory.data = static_cast<char*>(from.data) + from.byte_offset - extent.before;
    return memory;
  }
  if (from.byte_offset < extent.before) {
    return invalid("tensor ", tensor_text(from), " has elements ",
                   ByteCount(extent.before - from.byte_offset), " before its memory")
        .with_reason("ARGUMENT_RANGE");
  }
  memory.byte_offset = from.byte_offset - extent.before;
  return memory;
}

}  // namespace

Result<Ref<TensorObject>> compact_copy(const gantry_tensor& from, const DeviceSet& devices,
                                       const gantry_env* env) {
  GANTRY_CHECK(check_packed(from));
  GANTRY_TRY(Ref<TensorObject> made,
             tensor_new(devices, compact_tensor(from.dtype, shape_of(from))));
  if (made->bytes == 0) return made;
  const Gather elements(from, element_bytes(from.dtype));
  char* const to = static_cast<char*>(made->tensor.data);
  if (from.device.type == kCpu) {
    elements.copy(static_cast<const char*>(from.data) + from.byte_offset, to);
    return made;
  }
  const Extent extent = extent_of(from);
  std::int64_t shape = 0;
  GANTRY_TRY(const gantry_tensor there, memory_of(from, extent, devices, shape));
  GANTRY_TRY(const Ref<TensorObject> here,
             tensor_new(devices, compact_tensor(dtypes::uint8, {&shape, 1})));
  GANTRY_CHECK(tensor_copy(devices, there, here->tensor, env));
  elements.copy(static_cast<const char*>(here->tensor.data) + extent.before, to);
  return made;
}

}  // namespace gantry
