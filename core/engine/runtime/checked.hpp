// SPDX-License-Identifier: Apache-2.0
//
// The check of the arguments of every function in the tables of gantry/host.h and gantry/embed.h.
//
//     .text_new = checked<host_text_new, "text_new", "host?", "kind", "text", "value">,
//     .call = checked<host_call, "call", "host?", "function?", "env?", "args[]", "count", "result">,
//
// A name for each parameter but the last, gantry_status. Of a name that ends with `?`, the function itself checks the argument, or it
// may be NULL; `[]` are elements, whose number is the next argument, and no value among them is_null(); of `[?]` the function checks
// the elements. All other pointers must not be NULL, a text has bytes at its
// address, and no size or number wraps around an address.
#pragma once

#include "core/engine/tensor/null_value.hpp"
#include "core/engine/tensor/object.hpp"

#include <gantry/abi_boundary.hpp>
#include <gantry/result.hpp>
#include <gantry/value.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace gantry {

// Checks a text that a struct or a call has.
//
// returns  INVALID  its size is not 0 and its address is, or the size exceeds every memory (ARGUMENT_KIND)
Status check_text(const gantry_bytes& text, std::string_view function, std::string_view name);
// Checks a required pointer.
//
// returns  INVALID  ARGUMENT_KIND
Status check_pointer(const void* pointer, std::string_view function, std::string_view name);
// Checks a pointer to `count` elements of `size` bytes.
//
// returns  INVALID  it is NULL and the number is not 0, or they exceed every memory (ARGUMENT_KIND)
Status check_elements(const void* first, std::uint64_t count, std::size_t size,
                      std::string_view function, std::string_view name);

// Checks values.
//
// returns  INVALID  one is_null() (ARGUMENT_KIND)
Status check_values(std::span<const gantry_value> values, std::string_view function,
                    std::string_view name);

namespace detail {

template <std::size_t size>
struct FixedText {
  char text[size];
  constexpr FixedText(const char (&from)[size]) { std::copy_n(from, size, text); }
  constexpr std::string_view view() const { return {text, size - 1}; }
};

constexpr bool is_unchecked(std::string_view name) { return name.ends_with('?'); }
constexpr bool is_list(std::string_view name) {
  return name.ends_with("[]") || name.ends_with("[?]");
}
// Returns whether an element of the list is looked at.
template <class Element>
constexpr bool has_values(std::string_view name) {
  return std::is_same_v<Element, gantry_value> && name.ends_with("[]");
}

template <class T>
struct ElementSize {
  static constexpr std::size_t value = sizeof(T);
};
template <>
struct ElementSize<void> {
  static constexpr std::size_t value = 1;
};

template <auto function, FixedText called, FixedText... names>
struct Checked;

template <class R, class... Args, R (*function)(Args...), FixedText called, FixedText... names>
struct Checked<function, called, names...> {
  static_assert(sizeof...(names) + std::is_same_v<R, gantry_code> == sizeof...(Args),
                "a name for each parameter but the status");
  static constexpr std::array<std::string_view, sizeof...(names)> all{names.view()...};

  // Returns whether argument i is right; nothing is called before.
  template <std::size_t i>
  static bool is_right(const std::tuple<const Args&...>& args) {
    using T = std::remove_cvref_t<std::tuple_element_t<i, std::tuple<Args...>>>;
    constexpr std::string_view name = all[i];
    if constexpr (is_unchecked(name)) {
      return true;
    } else if constexpr (std::is_same_v<T, gantry_bytes>) {
      return is_text(std::get<i>(args));
    } else if constexpr (is_list(name)) {
      using Element = std::remove_cv_t<std::remove_pointer_t<T>>;
      const auto count = std::get<i + 1>(args);
      constexpr auto max = static_cast<std::uint64_t>(PTRDIFF_MAX) / ElementSize<Element>::value;
      if (count == 0) return true;
      if (std::get<i>(args) == nullptr || !std::cmp_greater(count, 0) ||
          !std::cmp_less_equal(count, max))
        return false;
      if constexpr (has_values<Element>(name))
        return std::ranges::none_of(std::span(std::get<i>(args), static_cast<std::size_t>(count)),
                                    is_null);
      return true;
    } else if constexpr (std::is_pointer_v<T>) {
      return std::get<i>(args) != nullptr;
    } else {
      return true;
    }
  }
  template <std::size_t i>
  static Status check(const std::tuple<const Args&...>& args) {
    using T = std::remove_cvref_t<std::tuple_element_t<i, std::tuple<Args...>>>;
    constexpr std::string_view name = all[i];
    if (is_right<i>(args)) return {};
    if constexpr (std::is_same_v<T, gantry_bytes>) {
      return check_text(std::get<i>(args), called.view(), name);
    } else if constexpr (is_list(name)) {
      using Element = std::remove_cv_t<std::remove_pointer_t<T>>;
      const std::string_view list = name.substr(0, name.find('['));
      const auto count = static_cast<std::uint64_t>(std::get<i + 1>(args));
      GANTRY_CHECK(check_elements(std::get<i>(args), count, ElementSize<Element>::value,
                                  called.view(), list));
      if constexpr (has_values<Element>(name))
        return check_values({std::get<i>(args), count}, called.view(), list);
      return {};
    } else if constexpr (std::is_pointer_v<T>) {
      return check_pointer(reinterpret_cast<const void*>(std::get<i>(args)), called.view(), name);
    } else {
      return {};
    }
  }

  template <std::size_t... i>
  static bool are_right(const std::tuple<const Args&...>& args, std::index_sequence<i...>) {
    return (is_right<i>(args) && ...);
  }
  template <std::size_t... i>
  static Status first_wrong(const std::tuple<const Args&...>& args, std::index_sequence<i...>) {
    Status first;
    static_cast<void>(((first = check<i>(args), first.ok()) && ...));
    return first;
  }
  // By value: an address of an argument would have it stored by every call.
  [[gnu::cold]] [[gnu::noinline]] static R refuse(Args... args) {
    if constexpr (std::is_same_v<R, gantry_code>) {
      const std::tuple<const Args&...> given(args...);
      gantry_status* const status = std::get<sizeof...(Args) - 1>(given);
      return abi_boundary(status, [&]() -> Status {
        return first_wrong(given, std::make_index_sequence<sizeof...(names)>());
      });
    } else {
      return R();
    }
  }

  static R call(Args... args) {
    constexpr auto indices = std::make_index_sequence<sizeof...(names)>();
    if (!are_right(std::tuple<const Args&...>(args...), indices)) [[unlikely]] {
      return refuse(args...);
    }
    return function(args...);
  }
};

}  // namespace detail

template <auto function, detail::FixedText called, detail::FixedText... names>
constexpr auto* checked = &detail::Checked<function, called, names...>::call;

}  // namespace gantry
