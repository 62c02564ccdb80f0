// SPDX-License-Identifier: Apache-2.0
//
// gantry/embed/tensor.hpp - a tensor with an owner.
#pragma once

#include <gantry/device_name.hpp>
#include <gantry/dtype_text.hpp>
#include <gantry/embed/object.hpp>
#include <gantry/embed/table.hpp>
#include <gantry/tensor_text.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace gantry {
inline namespace embed_api {

// The functions require a handle that is not empty.
class Tensor : public Object {
 public:
  Tensor() = default;
  // Precondition: `object` is a tensor.
  explicit Tensor(ObjectRef object) : Object(std::move(object)) {}

  // The layout is that of DLPack.
  gantry_tensor* dlpack() const { return reinterpret_cast<gantry_tensor*>(get() + 1); }
  gantry_dtype dtype() const { return dlpack()->dtype; }
  std::span<const std::int64_t> shape() const { return shape_of(*dlpack()); }
  gantry_device_id device() const { return dlpack()->device; }
  std::uint64_t element_count() const {
    std::uint64_t count = 1;
    for (const std::int64_t extent : shape()) count *= static_cast<std::uint64_t>(extent);
    return count;
  }
  // Bytes of the elements; those below a byte are packed.
  std::uint64_t byte_size() const { return gantry_element_bytes(dtype(), element_count()); }
  // "float32[1, 64]"
  std::string describe() const { return tensor_text(*dlpack()); }

  // Returns the driver's handle of the memory, GANTRY_NATIVE_MEMORY, or of its context,
  // GANTRY_NATIVE_CONTEXT.
  Result<void*> native(std::int32_t kind = GANTRY_NATIVE_MEMORY) const {
    return embed_detail::native_of(get(), kind);
  }

  // Returns the address of the first element if the tensor is on the CPU, else NULL.
  void* data() const {
    const gantry_tensor& tensor = *dlpack();
    if (tensor.device.type != cpu_device_type || tensor.data == nullptr) return nullptr;
    return static_cast<char*>(tensor.data) + tensor.byte_offset;
  }
  // Precondition: data() is not NULL, the tensor has no strides, and T has the size of an element.
  template <class T>
  std::span<T> elements() const {
    return {static_cast<T*>(data()), static_cast<std::size_t>(byte_size() / sizeof(T))};
  }

  // Returns row `index` of the first axis, a view with the other axes.
  //
  // returns  INVALID  no such row, no axis, or the tensor is not compact
  Result<Tensor> row(std::int64_t index) const {
    const gantry_tensor& whole = *dlpack();
    if (whole.ndim < 1) return invalid("tensor ", describe(), " has no first axis");
    if (index < 0 || index >= whole.shape[0]) {
      return invalid("row ", index, " of tensor ", describe(), " does not exist, the last is ",
                     whole.shape[0] - 1);
    }
    if (!is_compact(whole)) return invalid("tensor ", describe(), " has strides");
    const std::uint64_t row_elements = element_count() / static_cast<std::uint64_t>(whole.shape[0]);
    const std::uint64_t row_bits = row_elements * dtype().bits * dtype().lanes;
    if (is_packed(dtype()) && row_bits % 8 != 0) {
      return invalid("rows of tensor ", describe(), " have ", row_bits,
                     " bits, and begin within bytes");
    }
    gantry_tensor part = whole;
    part.ndim = whole.ndim - 1;
    part.shape = whole.shape + 1;
    part.strides = nullptr;
    part.byte_offset +=
        static_cast<std::uint64_t>(index) * gantry_element_bytes(dtype(), row_elements);
    GANTRY_TRY(
        const Value view,
        embed_detail::made_value("tensor_view", [&](gantry_value* made, gantry_status* status) {
          return embed_table().tensor_view(&part, get(), 0, made, status);
        }));
    return Tensor(ObjectRef::share(view.object()));
  }
};

}  // namespace embed_api
}  // namespace gantry
