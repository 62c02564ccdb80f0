// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gantry/result.hpp>
#include <gantry/runtime/any.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <type_traits>

namespace gantry {

// A packed function.
class GANTRY_EXPORT Function : public Object {
 public:
  Function() = default;
  // Precondition: `object` is a function.
  explicit Function(Object object) : Object(std::move(object)) {}

  // env      [in]   device, stream and task; NULL: device 0 of the function's device type, default
  //                 stream, no task
  // thread   any; functions of one executor one at a time
  Result<Any> call(std::span<const gantry_value> args, const gantry_env* env = nullptr) const;

  // Calls the function with numbers, texts, tensors, device ids and Any.
  template <class... Args>
  Result<Any> operator()(const Args&... args) const {
    const gantry_value values[] = {argument(args)..., gantry_value{}};
    return call(std::span(values, sizeof...(args)));
  }

 private:
  template <class T>
  static gantry_value argument(const T& from) {
    gantry_value to{};
    if constexpr (std::is_same_v<T, Any>) {
      to = from.value();
    } else if constexpr (std::is_base_of_v<Object, T>) {
      if (from) to = {from.get()->kind, 0, {}}, to.object = from.get();
    } else if constexpr (std::is_same_v<T, gantry_device_id>) {
      to = {GANTRY_DEVICE, 0, {}}, to.device = from;
    } else if constexpr (std::is_same_v<T, bool>) {
      to = {GANTRY_BOOL, 0, {}}, to.i = from;
    } else if constexpr (std::is_integral_v<T>) {
      to = {GANTRY_INT, 0, {}}, to.i = from;
    } else if constexpr (std::is_floating_point_v<T>) {
      to = {GANTRY_FLOAT, 0, {}}, to.f = from;
    } else if constexpr (std::is_same_v<T, std::string>) {
      to = {GANTRY_CSTRING, 0, {}}, to.cstring = from.c_str();
    } else {
      static_assert(std::is_convertible_v<T, const char*>, "argument kinds: see gantry/value.h");
      to = {GANTRY_CSTRING, 0, {}}, to.cstring = from;
    }
    return to;
  }
};

}  // namespace gantry
