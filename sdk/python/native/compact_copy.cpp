// SPDX-License-Identifier: Apache-2.0
#include "compact_copy.hpp"

#include <cstring>

namespace gantry::python {
namespace {

class Copier {
 public:
  Copier(const gantry_tensor& from, const std::int64_t* steps, std::uint64_t item_bytes, void* to)
      : from_(from), steps_(steps), item_bytes_(item_bytes), to_(static_cast<char*>(to)) {}

  void copy(std::int32_t axis, const char* at) {
    if (axis + 1 >= from_.ndim) return copy_row(at);
    for (std::int64_t i = 0; i < from_.shape[axis]; ++i) copy(axis + 1, at + i * steps_[axis]);
  }

 private:
  void copy_row(const char* at) {
    const std::int64_t count = from_.ndim == 0 ? 1 : from_.shape[from_.ndim - 1];
    const std::int64_t step = from_.ndim == 0 ? 0 : steps_[from_.ndim - 1];
    switch (item_bytes_) {
      case 1:
        return copy_items<1>(at, count, step);
      case 2:
        return copy_items<2>(at, count, step);
      case 4:
        return copy_items<4>(at, count, step);
      case 8:
        return copy_items<8>(at, count, step);
      default:
        for (std::int64_t i = 0; i < count; ++i, to_ += item_bytes_)
          std::memcpy(to_, at + i * step, item_bytes_);
    }
  }

  template <std::size_t item_bytes>
  void copy_items(const char* at, std::int64_t count, std::int64_t step) {
    if (step == static_cast<std::int64_t>(item_bytes)) {
      std::memcpy(to_, at, static_cast<std::size_t>(count) * item_bytes);
      to_ += static_cast<std::size_t>(count) * item_bytes;
      return;
    }
    for (std::int64_t i = 0; i < count; ++i, to_ += item_bytes)
      std::memcpy(to_, at + i * step, item_bytes);
  }

  const gantry_tensor& from_;
  const std::int64_t* const steps_;
  const std::uint64_t item_bytes_;
  char* to_;
};

}  // namespace

void copy_compact(const gantry_tensor& from, const std::int64_t* steps, std::uint64_t item_bytes,
                  void* to) {
  for (std::int32_t axis = 0; axis < from.ndim; ++axis)
    if (from.shape[axis] == 0) return;
  const char* const begin = static_cast<const char*>(from.data) + from.byte_offset;
  Copier(from, steps, item_bytes, to).copy(0, begin);
}

}  // namespace gantry::python
