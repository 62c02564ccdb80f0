// SPDX-License-Identifier: Apache-2.0
//
// gantry/value.hpp - creates and reads the values of calls, and releases them in a destructor.
//
//     gantry_value args[] = {int_value(3), tensor_ref_value(&x)};     // hold no reference
//     const std::optional<std::string_view> name = value_text(args[0]);   // any form of text
//     gantry::Value owned = gantry::Value::adopt(result);             // released by its destructor
//
// A Value has 16 bytes. Copying one costs at most one atomic addition.
#pragma once

#include <gantry/value.h>
#include <gantry/object_ref.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

namespace gantry {

namespace detail {
// Member is the member of the union that stores `content`.
template <auto Member, class Content>
gantry_value value_of(std::int32_t kind, Content content) {
  gantry_value value{};
  value.kind = kind;
  value.*Member = content;
  return value;
}
}  // namespace detail

// Values without a reference, for arguments and results.
inline gantry_value int_value(std::int64_t number) {
  return detail::value_of<&gantry_value::i>(GANTRY_INT, number);
}
inline gantry_value bool_value(bool truth) {
  return detail::value_of<&gantry_value::i>(GANTRY_BOOL, std::int64_t{truth});
}
inline gantry_value float_value(double number) {
  return detail::value_of<&gantry_value::f>(GANTRY_FLOAT, number);
}
inline gantry_value device_value(gantry_device_id device) {
  return detail::value_of<&gantry_value::device>(GANTRY_DEVICE, device);
}
inline gantry_value dtype_value(gantry_dtype dtype) {
  return detail::value_of<&gantry_value::dtype>(GANTRY_DTYPE, dtype);
}
// Borrowed values: the pointee must outlive the call that has the value as an argument.
inline gantry_value tensor_ref_value(gantry_tensor* tensor) {
  return detail::value_of<&gantry_value::tensor>(GANTRY_TENSOR_REF, tensor);
}
inline gantry_value cstring_value(const char* text) {
  return detail::value_of<&gantry_value::cstring>(GANTRY_CSTRING, text);
}
inline gantry_value bytes_ref_value(const gantry_bytes* bytes) {
  return detail::value_of<&gantry_value::bytes>(GANTRY_BYTES_REF, bytes);
}

// Each returns the content of an argument in any of its forms; nullopt if it is of another kind.
//
// lifetime views are valid as long as the argument: a small text is inside the gantry_value
inline std::optional<std::string_view> value_text(const gantry_value& value) {
  gantry_bytes bytes;
  if (!gantry_value_bytes(&value, &bytes)) return std::nullopt;
  return std::string_view(bytes.data, bytes.size);
}
// Deleted, because the view of a temporary would dangle.
std::optional<std::string_view> value_text(const gantry_value&&) = delete;
inline std::optional<std::int64_t> value_int(const gantry_value& value) {
  if (value.kind != GANTRY_INT && value.kind != GANTRY_BOOL) return std::nullopt;
  return value.i;
}
inline std::optional<std::span<const std::int64_t>> value_shape(const gantry_value& value) {
  gantry_shape shape;
  if (!gantry_value_shape(&value, &shape)) return std::nullopt;
  return std::span(shape.dims, shape.count);
}

constexpr std::string_view view_of(gantry_bytes bytes) { return {bytes.data, bytes.size}; }
constexpr gantry_bytes bytes_of(std::string_view text) { return {text.data(), text.size()}; }

// A value that owns a reference to its object, if it has one.
//
// Release  see BasicObjectRef
template <class Release>
class BasicValue {
 public:
  BasicValue() = default;
  BasicValue(const BasicValue& other) : value_(other.value_) {
    if (object() != nullptr) gantry_retain(value_.object);
  }
  BasicValue(BasicValue&& other) noexcept : value_(std::exchange(other.value_, gantry_value{})) {}
  BasicValue& operator=(BasicValue other) noexcept {
    std::swap(value_, other.value_);
    return *this;
  }
  ~BasicValue() {
    if (object() != nullptr) Release::release(value_.object);
  }

  // Takes over the reference in `value`. Borrowed forms (C string, bytes, tensor by reference) stay
  // borrowed; Host::keep() copies them.
  static BasicValue adopt(const gantry_value& value) {
    BasicValue owned;
    owned.value_ = value;
    return owned;
  }

  // Adds a reference to the object of `value`, if it has one.
  static BasicValue share(const gantry_value& value) {
    if (value.kind >= GANTRY_OBJECT && value.object != nullptr) gantry_retain(value.object);
    return adopt(value);
  }

  const gantry_value& get() const { return value_; }
  // For the result of a call. Precondition: the value is none.
  gantry_value* slot() { return &value_; }
  std::int32_t kind() const { return value_.kind; }
  // NULL if the value is not an object.
  gantry_object* object() const { return value_.kind >= GANTRY_OBJECT ? value_.object : nullptr; }
  gantry_tensor* tensor() const { return gantry_value_tensor(&value_); }
  // Transfers the reference to the caller: *result = value.take().
  [[nodiscard]] gantry_value take() { return std::exchange(value_, gantry_value{}); }

 private:
  gantry_value value_{};
};
using Value = BasicValue<ReleaseAtOnce>;

}  // namespace gantry
