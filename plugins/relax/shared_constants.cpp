// SPDX-License-Identifier: Apache-2.0
#include "shared_constants.hpp"

#include <gantry/device_name.hpp>
#include <gantry/dtype_text.hpp>
#include <gantry/tensor_text.hpp>

#include <algorithm>
#include <map>
#include <utility>

namespace gantry::relax {
namespace {

// Of arrays in a result, and the number of their items: an array may contain another one several
// times, so a few instructions can make any number.
constexpr std::uint32_t max_nesting = 256;
constexpr std::uint32_t max_items = 65536;

}  // namespace

Result<SharedConstants> SharedConstants::create(const Host& host, std::vector<Value> values) {
  SharedConstants made;
  for (const Value& value : values) {
    const gantry_tensor* const tensor = value.tensor();
    if (tensor == nullptr) continue;
    GANTRY_TRY(const std::uint64_t bytes, tensor_bytes(shape_of(*tensor), tensor->dtype));
    GANTRY_TRY(const gantry_device device, host.device(tensor->device));
    if (bytes == 0) continue;
    const auto data = reinterpret_cast<std::uintptr_t>(tensor->data);
    if ((device.table->flags & GANTRY_DEVICE_OPAQUE_DATA) != 0) {
      made.ranges_.push_back({data, 1});
    } else {
      made.ranges_.push_back({data + tensor->byte_offset, bytes});
    }
    made.device_ = tensor->device;
  }
  std::ranges::sort(made.ranges_, {}, &Range::begin);
  made.values_ = std::move(values);
  return made;
}

// A view of a handle has the handle itself, and the offset of its first byte.
bool SharedConstants::contains(const gantry_tensor& tensor) const {
  if (!same_device(tensor.device, device_)) return false;
  const auto data = reinterpret_cast<std::uintptr_t>(tensor.data);
  const auto is_in = [&](std::uintptr_t address) {
    const auto after = std::ranges::upper_bound(ranges_, address, {}, &Range::begin);
    return after != ranges_.begin() && address - (after - 1)->begin < (after - 1)->bytes;
  };
  return is_in(data) || (tensor.byte_offset != 0 && is_in(data + tensor.byte_offset));
}

class SharedConstants::Copier {
 public:
  Copier(const SharedConstants& constants, const Host& host, const gantry_env* env)
      : constants_(constants), host_(host), env_(env) {}

  Result<Value> copied(Value value, std::uint32_t depth) {
    if (const gantry_tensor* const tensor = value.tensor()) {
      if (!constants_.contains(*tensor)) return value;
      Value& copy = copies_[value.object()];
      if (copy.object() == nullptr) {
        GANTRY_TRY(copy, host_.tensor_copied(*tensor, tensor->device, env_));
      }
      return copy;
    }
    if (value.kind() != GANTRY_ARRAY) return value;
    if (depth == max_nesting) {
      return exhausted("arrays of the result are nested more than ", max_nesting,
                       " times, the limit")
          .with_reason("VM_DEPTH");
    }
    GANTRY_TRY(const auto items, host_.items(value.object()));
    std::vector<Value> copies;
    copies.reserve(items.size());
    bool is_same = true;
    for (const gantry_value& item : items) {
      if (++items_ > max_items) {
        return exhausted("the result has more than ", max_items, " items, the limit")
            .with_reason("VM_DEPTH");
      }
      GANTRY_TRY(Value kept, host_.keep(item));
      const gantry_object* const object = kept.object();
      GANTRY_TRY(Value copy, copied(std::move(kept), depth + 1));
      is_same = is_same && copy.object() == object;
      copies.push_back(std::move(copy));
    }
    if (is_same) return value;
    return host_.array(copies);
  }

 private:
  const SharedConstants& constants_;
  const Host& host_;
  const gantry_env* const env_;
  // Of tensors that the result keeps.
  std::map<const gantry_object*, Value> copies_;
  std::uint32_t items_ = 0;
};

Result<Value> SharedConstants::without_constants(const Host& host, Value result,
                                                 const gantry_env* env) const {
  if (ranges_.empty()) return result;
  return Copier(*this, host, env).copied(std::move(result), 0);
}

}  // namespace gantry::relax
