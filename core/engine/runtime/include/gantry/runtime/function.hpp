// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gantry/result.hpp>
#include <gantry/runtime/any.hpp>
#include <gantry/runtime/function_layout.hpp>
#include <gantry/runtime/tensor.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>

namespace gantry {

// A packed function.
//
// Calls are compiled into the caller (always_inline), with arguments, status and result where the
// callee reads and writes them. An outlined call costs about a nanosecond more.
class Function : public Object {
 public:
  Function() = default;
  // Precondition: `object` is a function.
  explicit Function(Object object) : Object(std::move(object)) {}

  // env      [in]   device, stream and task; NULL: device 0 of the function's device type, default
  //                 stream, no task
  // thread   any; functions of one executor one at a time
  [[gnu::always_inline]] Result<Any> call(std::span<const gantry_value> args,
                                          const gantry_env* env = nullptr) const {
    Result<Any> result{Any()};
    if (object_ == nullptr || args.size() > INT32_MAX) [[unlikely]] {
      detail::refuse_call(object_, args.size(), result);
    } else {
      detail::make_call(object_, result, [&](gantry_value* value, gantry_status* status) {
        const gantry_function& target = layout().target;
        return target.table->call(target.self, env != nullptr ? env : &layout().env, args.data(),
                                  static_cast<std::int32_t>(args.size()), value, status);
      });
    }
    return result;
  }

  // Calls the function with numbers, texts, tensors, device ids and Any.
  template <class... Args>
  [[gnu::always_inline]] Result<Any> operator()(const Args&... args) const {
    if constexpr (sizeof...(args) == 0) {
      return call({});
    } else {
      // Numbers and tensors are laid out here as packed host code takes them.
      if constexpr ((is_packed_argument<Args> && ...)) {
        if (object_ != nullptr && layout().packed != nullptr && (!is_empty(args) && ...))
          return call_packed(args...);
      }
      const gantry_value values[] = {argument(args)...};
      return call(values);
    }
  }

 private:
  const detail::FunctionLayout& layout() const {
    return *reinterpret_cast<const detail::FunctionLayout*>(object_);
  }

  // TVMValue.
  union PackedWord {
    std::int64_t i;
    double f;
    void* p;
  };
  template <class T>
  static constexpr bool is_packed_argument =
      std::is_arithmetic_v<T> || std::is_base_of_v<Tensor, T>;
  template <class T>
  static bool is_empty([[maybe_unused]] const T& from) {
    if constexpr (std::is_base_of_v<Object, T>) return !from;
    return false;
  }
  template <class T>
  static PackedWord packed_word(const T& from) {
    if constexpr (std::is_base_of_v<Tensor, T>) {
      // gantry_tensor follows the object's header.
      return {.p = from.get() + 1};
    } else if constexpr (std::is_floating_point_v<T>) {
      return {.f = from};
    } else {
      return {.i = static_cast<std::int64_t>(from)};
    }
  }
  template <class T>
  static constexpr int packed_code = std::is_base_of_v<Tensor, T>  ? 7
                                     : std::is_floating_point_v<T> ? 2
                                                                   : 0;

  template <class... Args>
  [[gnu::always_inline]] Result<Any> call_packed(const Args&... args) const {
    Result<Any> result{Any()};
    PackedWord words[] = {packed_word(args)...};
    int codes[] = {packed_code<Args>...};
    detail::make_call(object_, result, [&](gantry_value* value, gantry_status* status) {
      return layout().packed(layout().target.self, &layout().env, words, codes,
                             static_cast<std::int32_t>(sizeof...(args)), value, status);
    });
    return result;
  }

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
