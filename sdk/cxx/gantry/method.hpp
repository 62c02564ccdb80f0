// SPDX-License-Identifier: Apache-2.0
//
// gantry/method.hpp - exposes a member function of a class as a function of the ABI.
//
//     gantry::method<&Module::set_input, "set_input(name, tensor)">
//
// The text is the usage. The part before the parenthesis is the function's name; lists of functions
// show the usage, and error messages begin with it (call.hpp). Each method has one static table and
// `self` is the object, so looking up a method allocates no memory.
#pragma once

#include <gantry/module.h>
#include <gantry/abi_boundary.hpp>
#include <gantry/call.hpp>
#include <gantry/value.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <type_traits>

namespace gantry {

// A method of class M.
template <class M>
struct Method {
  std::string_view name;
  // "set_input(name, tensor)"
  std::string_view usage;
  const gantry_function_table* table;
};

namespace detail {

// A string literal as a template argument.
template <std::size_t Size>
struct UsageText {
  // NOLINTNEXTLINE: implicit by design
  consteval UsageText(const char (&from)[Size]) {
    for (std::size_t i = 0; i < Size; ++i) {
      text[i] = from[i];
      if (from[i] == '(' && name_size == 0) name_size = i;
    }
    if (name_size == 0 || from[Size - 2] != ')') throw "a usage has the form name(argument, ...)";
  }
  constexpr std::string_view view() const { return {text, Size - 1}; }
  constexpr std::string_view name() const { return {text, name_size}; }

  char text[Size];
  std::size_t name_size = 0;
};

// SelfOf is the class of a member function, or of the first parameter of another function.
template <class R, class M, class... A>
std::type_identity<M> self_of(R (M::*)(A...));
template <class R, class M, class... A>
std::type_identity<M> self_of(R (M::*)(A...) const);
template <class R, class M, class... A>
std::type_identity<std::remove_const_t<M>> self_of(R (*)(M&, A...));
template <auto function>
using SelfOf = typename decltype(self_of(function))::type;

// Runs the body of a call.
//
// body     [in]   returns a Result<Value>, a Status (no result), or a gantry_code (then it fills
//                 the status itself)
template <class Body>
gantry_code run_call(gantry_value* result, gantry_status* status, Body&& body) {
  if constexpr (std::is_same_v<std::invoke_result_t<Body>, Result<Value>>) {
    return abi_boundary(status, [&]() -> Status {
      GANTRY_TRY(Value value, body());
      *result = value.take();
      return {};
    });
  } else {
    return abi_boundary(status, body);
  }
}

inline std::span<const gantry_value> arguments_of(const gantry_value* args, std::int32_t count) {
  return {args, static_cast<std::size_t>(count < 0 ? 0 : count)};
}

template <auto function, UsageText usage>
gantry_code call_method(void* self, const gantry_env* env, const gantry_value* args,
                        std::int32_t count, gantry_value* result, gantry_status* status) {
  using M = SelfOf<function>;
  const Call call{usage.view(), env, arguments_of(args, count)};
  return run_call(result, status, [&] {
    M& object = *static_cast<M*>(self);
    if constexpr (std::is_invocable_v<decltype(function), M&, const Call&, gantry_status*>) {
      return std::invoke(function, object, call, status);
    } else {
      return std::invoke(function, object, call);
    }
  });
}

template <auto function, UsageText usage>
inline constexpr gantry_function_table method_table = {
    .struct_size = sizeof(gantry_function_table),
    .flags = 0,
    // The function does not own the object.
    .destroy = nullptr,
    .call = call_method<function, usage>,
};

// Returns NULL if there is no method of that name.
template <class Methods>
const gantry_function_table* find_method(const Methods& methods, std::string_view name) {
  for (const auto& method : methods) {
    if (method.name == name) return method.table;
  }
  return nullptr;
}

// Calls the host's visitor with one function.
inline gantry_code visit_function(const gantry_visitor& visitor, std::string_view name,
                                  std::string_view doc, gantry_status* status) {
  const gantry_function_info info{sizeof info, 0, bytes_of(name), bytes_of(doc)};
  return visitor.visit(visitor.self, &info, status);
}

template <class Methods>
gantry_code visit_methods(const gantry_visitor& visitor, const Methods& methods,
                          gantry_status* status) {
  for (const auto& method : methods) {
    if (const gantry_code code = visit_function(visitor, method.name, method.usage, status))
      return code;
  }
  return GANTRY_OK;
}

}  // namespace detail

// function  &M::f, or a function whose first parameter is an M&. It takes a const Call& and returns
//           a Result<Value>, or a Status if it has no result. A function that fills the status
//           itself has gantry_status* as its last parameter and returns a gantry_code.
template <auto function, detail::UsageText usage>
inline constexpr Method<detail::SelfOf<function>> method = {usage.name(), usage.view(),
                                                            &detail::method_table<function, usage>};

}  // namespace gantry
