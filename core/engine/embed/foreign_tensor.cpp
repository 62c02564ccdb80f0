// SPDX-License-Identifier: Apache-2.0
#include "core/engine/embed/foreign_tensor.hpp"

#include "core/base/call_destroy.hpp"
#include "core/engine/runtime/devices.hpp"

#include <gantry/byte_count.hpp>
#include <gantry/dtype_text.hpp>
#include <gantry/tensor_text.hpp>

#include <memory>
#include <span>
#include <utility>

namespace gantry {
namespace {

// Calls destroy of a memory once it is owned.
class Owner {
 public:
  explicit Owner(const ForeignMemory& memory) : memory_(memory) {}
  Owner(const Owner&) = delete;
  Owner& operator=(const Owner&) = delete;
  ~Owner() {
    if (owns_ && memory_.destroy != nullptr)
      call_destroy("a memory of tensor_foreign", [&] { memory_.destroy(memory_.self); });
  }
  void own() { owns_ = true; }

 private:
  ForeignMemory memory_;
  bool owns_ = false;
};

Failure outside(const gantry_tensor& what, std::uint64_t size) {
  return invalid("tensor_foreign: the elements of ", tensor_text(what), " with byte offset ",
                 what.byte_offset, " are not within the memory of ", ByteCount(size))
      .with_reason("ARGUMENT_RANGE");
}

// Checks that every element is within the memory.
//
// bytes    [in]   of the elements alone
Status check_extent(const gantry_tensor& what, std::uint64_t bytes, std::uint64_t size) {
  if (bytes == 0) return {};
  if (what.byte_offset > size) return outside(what, size);
  const std::uint64_t left = size - what.byte_offset;
  if (what.strides == nullptr) return bytes <= left ? Status() : outside(what, size);
  // the index of the last element; elements before the first one are outside
  std::uint64_t last = 0;
  const auto shape = shape_of(what);
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const std::int64_t stride = what.strides[axis];
    if (shape[axis] == 1) continue;
    std::uint64_t reach = 0;
    if (stride < 0 ||
        __builtin_mul_overflow(static_cast<std::uint64_t>(shape[axis] - 1),
                               static_cast<std::uint64_t>(stride), &reach) ||
        __builtin_add_overflow(last, reach, &last))
      return outside(what, size);
  }
  const std::uint64_t element = element_bytes(what.dtype);
  return last < left / element ? Status() : outside(what, size);
}

}  // namespace

Result<Ref<TensorObject>> foreign_tensor(RuntimeState& runtime, const gantry_tensor& what,
                                         const ForeignMemory& memory) {
  GANTRY_TRY(const std::uint64_t bytes, data_bytes(what));
  GANTRY_CHECK(check_extent(what, bytes, memory.size));
  GANTRY_TRY(const auto device, runtime.device(what.device.type));
  GANTRY_CHECK(device_at(*device, what.device.index, concat(device->name, ":", what.device.index)));
  auto owner = std::make_shared<Owner>(memory);
  GANTRY_TRY(const ObjectPtr pin, new_pin(owner));
  GANTRY_TRY(Ref<TensorObject> tensor, tensor_view(what, pin.get()));
  owner->own();
  return tensor;
}

}  // namespace gantry
