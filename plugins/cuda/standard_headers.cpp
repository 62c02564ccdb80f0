// SPDX-License-Identifier: Apache-2.0
#include "standard_headers.hpp"

namespace gantry::cuda {
namespace {

constexpr char cstdint_text[] = R"(#ifndef GANTRY_CUDA_STD_CSTDINT
#define GANTRY_CUDA_STD_CSTDINT
namespace cuda {
namespace std {
using int8_t = signed char;
using int16_t = short;
using int32_t = int;
using int64_t = long long;
using uint8_t = unsigned char;
using uint16_t = unsigned short;
using uint32_t = unsigned int;
using uint64_t = unsigned long long;
using intptr_t = long long;
using uintptr_t = unsigned long long;
}
}
#endif
)";

constexpr char type_traits_text[] = R"(#ifndef GANTRY_CUDA_STD_TYPE_TRAITS
#define GANTRY_CUDA_STD_TYPE_TRAITS
namespace cuda {
namespace std {
template <class T, T V>
struct integral_constant {
  static constexpr T value = V;
  using value_type = T;
  __host__ __device__ constexpr operator T() const { return V; }
};
template <bool B>
using bool_constant = integral_constant<bool, B>;
using true_type = bool_constant<true>;
using false_type = bool_constant<false>;

template <class T> struct remove_const { using type = T; };
template <class T> struct remove_const<const T> { using type = T; };
template <class T> struct remove_volatile { using type = T; };
template <class T> struct remove_volatile<volatile T> { using type = T; };
template <class T> using remove_const_t = typename remove_const<T>::type;
template <class T> using remove_volatile_t = typename remove_volatile<T>::type;
template <class T> struct remove_cv { using type = remove_const_t<remove_volatile_t<T>>; };
template <class T> using remove_cv_t = typename remove_cv<T>::type;
template <class T> struct remove_reference { using type = T; };
template <class T> struct remove_reference<T&> { using type = T; };
template <class T> struct remove_reference<T&&> { using type = T; };
template <class T> using remove_reference_t = typename remove_reference<T>::type;

template <class A, class B> struct is_same : false_type {};
template <class A> struct is_same<A, A> : true_type {};
template <class A, class B> constexpr bool is_same_v = is_same<A, B>::value;

template <class T> constexpr bool is_floating_point_v =
    is_same_v<remove_cv_t<T>, float> || is_same_v<remove_cv_t<T>, double>;
template <class T> constexpr bool is_signed_integer_v =
    is_same_v<T, signed char> || is_same_v<T, short> || is_same_v<T, int> ||
    is_same_v<T, long> || is_same_v<T, long long>;
template <class T> constexpr bool is_unsigned_integer_v =
    is_same_v<T, unsigned char> || is_same_v<T, unsigned short> || is_same_v<T, unsigned int> ||
    is_same_v<T, unsigned long> || is_same_v<T, unsigned long long>;
template <class T> constexpr bool is_character_v =
    is_same_v<T, bool> || is_same_v<T, char> || is_same_v<T, wchar_t> ||
    is_same_v<T, char16_t> || is_same_v<T, char32_t>;
template <class T> constexpr bool is_integral_v =
    is_signed_integer_v<remove_cv_t<T>> || is_unsigned_integer_v<remove_cv_t<T>> ||
    is_character_v<remove_cv_t<T>>;
template <class T> constexpr bool is_arithmetic_v = is_integral_v<T> || is_floating_point_v<T>;
template <class T, bool = is_arithmetic_v<T>> struct has_sign : bool_constant<(T(-1) < T(0))> {};
template <class T> struct has_sign<T, false> : false_type {};
template <class T> constexpr bool is_signed_v = has_sign<T>::value;
template <class T> constexpr bool is_unsigned_v = is_arithmetic_v<T> && !is_signed_v<T>;

template <class T> struct is_integral : bool_constant<is_integral_v<T>> {};
template <class T> struct is_floating_point : bool_constant<is_floating_point_v<T>> {};
template <class T> struct is_arithmetic : bool_constant<is_arithmetic_v<T>> {};
template <class T> struct is_signed : bool_constant<is_signed_v<T>> {};
template <class T> struct is_unsigned : bool_constant<is_unsigned_v<T>> {};

template <bool B, class T = void> struct enable_if {};
template <class T> struct enable_if<true, T> { using type = T; };
template <bool B, class T = void> using enable_if_t = typename enable_if<B, T>::type;
template <bool B, class T, class F> struct conditional { using type = T; };
template <class T, class F> struct conditional<false, T, F> { using type = F; };
template <bool B, class T, class F> using conditional_t = typename conditional<B, T, F>::type;
}
}
#endif
)";

constexpr StandardHeader all_headers[] = {
    {"cuda/std/cstdint", cstdint_text},
    {"cuda/std/type_traits", type_traits_text},
};

}  // namespace

std::span<const StandardHeader> standard_headers() { return all_headers; }

}  // namespace gantry::cuda
