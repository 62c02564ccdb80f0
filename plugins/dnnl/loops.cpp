// SPDX-License-Identifier: Apache-2.0
#include "loops.hpp"

#include <gantry/dtype_text.hpp>
#include <gantry/half.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

namespace gantry::dnnl_plugin {
namespace {

constexpr gantry_dtype float8_e4m3fn = dtypes::of(TypeCode::float8_e4m3fn, 8);

struct TypeRow {
  ElementType type;
  gantry_dtype dtype;
  DataType moved_as;
};
// The first row of a type of oneDNN is what it means without more knowledge.
constexpr TypeRow types[] = {
    {ElementType::float32, dtypes::float32, DataType::f32},
    {ElementType::float16, dtypes::float16, DataType::f16},
    {ElementType::bfloat16, dtypes::bfloat16, DataType::bf16},
    {ElementType::int32, dtypes::int32, DataType::s32},
    {ElementType::int8, dtypes::int8, DataType::s8},
    {ElementType::uint8, dtypes::uint8, DataType::u8},
    {ElementType::boolean, dtypes::of(TypeCode::bool_, 8), DataType::u8},
    {ElementType::float8_e4m3fn, float8_e4m3fn, DataType::u8},
};

float float_of_bfloat(std::uint16_t bits) {
  const std::uint32_t whole = std::uint32_t{bits} << 16;
  float number;
  std::memcpy(&number, &whole, sizeof number);
  return number;
}

std::uint16_t bfloat_of(float number) {
  std::uint32_t bits;
  std::memcpy(&bits, &number, sizeof bits);
  // a quiet NaN
  if (std::isnan(number)) return static_cast<std::uint16_t>((bits >> 16) | 0x40u);
  // to nearest, ties to even
  return static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1)) >> 16);
}

float float_of_float8(std::uint8_t bits) {
  const int exponent = (bits >> 3) & 15, fraction = bits & 7;
  if (exponent == 15 && fraction == 7) return std::numeric_limits<float>::quiet_NaN();
  const float size = exponent == 0 ? std::ldexp(static_cast<float>(fraction), -9)
                                   : std::ldexp(static_cast<float>(8 + fraction), exponent - 10);
  return (bits & 0x80) != 0 ? -size : size;
}

std::uint8_t float8_of(double number) {
  const std::uint8_t sign = std::signbit(number) ? 0x80 : 0;
  if (std::isnan(number)) return static_cast<std::uint8_t>(sign | 0x7f);
  const double size = std::min(std::abs(number), 448.0);
  int exponent = 0;
  std::frexp(size, &exponent);
  // The unit of the last of three fraction bits; subnormal numbers have that of the smallest exponent.
  const int unit = std::max(exponent - 4, -9);
  // nearbyint rounds ties to even. A carry into the exponent is correct.
  const int digits = static_cast<int>(std::nearbyint(std::ldexp(size, -unit)));
  if (digits >= 8) return static_cast<std::uint8_t>(sign | (((unit + 10) << 3) + (digits - 8)));
  return static_cast<std::uint8_t>(sign | digits);
}

template <class T>
T read(const std::byte* from) {
  T element;
  std::memcpy(&element, from, sizeof element);
  return element;
}
template <class T>
void write(std::byte* to, T element) {
  std::memcpy(to, &element, sizeof element);
}

// Toward zero, within the range; NaN is 0.
template <class T>
T integer_of(double number) {
  if (std::isnan(number)) return 0;
  return static_cast<T>(std::clamp(number, static_cast<double>(std::numeric_limits<T>::min()),
                                   static_cast<double>(std::numeric_limits<T>::max())));
}

template <class T, class Convert>
void load_each(const std::byte* from, std::int64_t step, std::int64_t count, double* to,
               Convert convert) {
  for (std::int64_t i = 0; i < count; ++i)
    to[i] = static_cast<double>(convert(read<T>(from + i * step * std::int64_t{sizeof(T)})));
}
template <class T, class Convert>
void store_each(const double* from, std::byte* to, std::int64_t step, std::int64_t count,
                Convert convert) {
  for (std::int64_t i = 0; i < count; ++i)
    write<T>(to + i * step * std::int64_t{sizeof(T)}, convert(from[i]));
}

constexpr auto same = [](auto element) { return element; };

void load(ElementType type, const std::byte* from, std::int64_t step, std::int64_t count,
          double* to) {
  switch (type) {
    case ElementType::float32:
      return load_each<float>(from, step, count, to, same);
    case ElementType::float16:
      return load_each<std::uint16_t>(from, step, count, to, float_of_half);
    case ElementType::bfloat16:
      return load_each<std::uint16_t>(from, step, count, to, float_of_bfloat);
    case ElementType::float8_e4m3fn:
      return load_each<std::uint8_t>(from, step, count, to, float_of_float8);
    case ElementType::int32:
      return load_each<std::int32_t>(from, step, count, to, same);
    case ElementType::int8:
      return load_each<std::int8_t>(from, step, count, to, same);
    case ElementType::uint8:
      return load_each<std::uint8_t>(from, step, count, to, same);
    case ElementType::boolean:
      return load_each<std::uint8_t>(from, step, count, to, [](std::uint8_t b) { return b != 0; });
  }
}

void store(ElementType type, const double* from, std::byte* to, std::int64_t step,
           std::int64_t count) {
  switch (type) {
    case ElementType::float32:
      return store_each<float>(from, to, step, count,
                               [](double v) { return static_cast<float>(v); });
    case ElementType::float16:
      return store_each<std::uint16_t>(from, to, step, count, half_of);
    case ElementType::bfloat16:
      return store_each<std::uint16_t>(from, to, step, count,
                                       [](double v) { return bfloat_of(static_cast<float>(v)); });
    case ElementType::float8_e4m3fn:
      return store_each<std::uint8_t>(from, to, step, count, float8_of);
    case ElementType::int32:
      return store_each<std::int32_t>(from, to, step, count, integer_of<std::int32_t>);
    case ElementType::int8:
      return store_each<std::int8_t>(from, to, step, count, integer_of<std::int8_t>);
    case ElementType::uint8:
      return store_each<std::uint8_t>(from, to, step, count, integer_of<std::uint8_t>);
    case ElementType::boolean:
      return store_each<std::uint8_t>(from, to, step, count,
                                      [](double v) -> std::uint8_t { return v != 0; });
  }
}

std::int64_t bytes_of_element(ElementType type) {
  return static_cast<std::int64_t>(::dnnl::memory::data_type_size(data_type_of(type)));
}

// Elements that are converted together.
constexpr std::int64_t chunk = 256;

// The lists of elements along the last dimension.
struct Rows {
  explicit Rows(const Dims& of) : dims(of) {
    length = dims.empty() ? 1 : dims.back();
    for (std::size_t i = 0; i + 1 < dims.size(); ++i) count *= dims[i];
  }
  // Returns where row `number` of a tensor begins, in bytes.
  std::int64_t offset(const Elements& elements, std::int64_t number) const {
    std::int64_t at = 0;
    for (std::size_t i = dims.size() - std::min<std::size_t>(dims.size(), 1); i-- > 0;) {
      at += number % dims[i] * elements.strides[i];
      number /= dims[i];
    }
    return at * bytes_of_element(elements.type);
  }

  Dims dims;
  std::int64_t length = 1, count = 1;
};
std::int64_t last_step(const Elements& elements) {
  return elements.strides.empty() ? 1 : elements.strides.back();
}

// Calls body(number) for each row.
template <class Body>
void for_rows(const Rows& rows, const Body& body) {
  if (rows.length == 0) return;
  // Waking threads takes longer than a few thousand elements do.
  [[maybe_unused]] const bool is_large = rows.count > 1 && rows.count > (1 << 14) / rows.length;
#pragma omp parallel for if (is_large)
  for (std::int64_t number = 0; number < rows.count; ++number) body(number);
}

}  // namespace

std::optional<ElementType> element_type_of(gantry_dtype dtype) {
  // Until v0.21, a boolean is an unsigned integer of one bit.
  if (same_dtype(dtype, dtypes::of(TypeCode::uint, 1))) return ElementType::boolean;
  const auto* const found =
      std::ranges::find_if(types, [&](const TypeRow& row) { return same_dtype(row.dtype, dtype); });
  return found == std::end(types) ? std::nullopt : std::optional(found->type);
}

ElementType element_type_of(DataType type) {
  return std::ranges::find(types, type, &TypeRow::moved_as)->type;
}

DataType data_type_of(ElementType type) {
  return std::ranges::find(types, type, &TypeRow::type)->moved_as;
}

bool is_narrow(ElementType type) {
  return type == ElementType::float16 || type == ElementType::bfloat16 ||
         type == ElementType::float8_e4m3fn;
}

Loop convert_loop(Elements from, Elements to) {
  Rows rows(to.dims);
  return
      [from = std::move(from), to = std::move(to), rows = std::move(rows)](void* const* tensors) {
        for_rows(rows, [&](std::int64_t number) {
          const auto* const source =
              static_cast<const std::byte*>(tensors[0]) + rows.offset(from, number);
          auto* const target = static_cast<std::byte*>(tensors[1]) + rows.offset(to, number);
          double part[chunk];
          for (std::int64_t i = 0; i < rows.length; i += chunk) {
            const std::int64_t count = std::min(chunk, rows.length - i);
            load(from.type, source + i * last_step(from) * bytes_of_element(from.type),
                 last_step(from), count, part);
            store(to.type, part, target + i * last_step(to) * bytes_of_element(to.type),
                  last_step(to), count);
          }
        });
      };
}

Loop unary_loop(Elements from, Elements to, float (*function)(float)) {
  Rows rows(to.dims);
  return [from = std::move(from), to = std::move(to), rows = std::move(rows),
          function](void* const* tensors) {
    for_rows(rows, [&](std::int64_t number) {
      const auto* const source =
          static_cast<const std::byte*>(tensors[0]) + rows.offset(from, number);
      auto* const target = static_cast<std::byte*>(tensors[1]) + rows.offset(to, number);
      constexpr std::int64_t size{sizeof(float)};
      for (std::int64_t i = 0; i < rows.length; ++i)
        write(target + i * last_step(to) * size,
              function(read<float>(source + i * last_step(from) * size)));
    });
  };
}

Loop binary_loop(Elements a, Elements b, Elements to, float (*function)(float, float)) {
  Rows rows(to.dims);
  return [a = std::move(a), b = std::move(b), to = std::move(to), rows = std::move(rows),
          function](void* const* tensors) {
    for_rows(rows, [&](std::int64_t number) {
      const auto* const first = static_cast<const std::byte*>(tensors[0]) + rows.offset(a, number);
      const auto* const second = static_cast<const std::byte*>(tensors[1]) + rows.offset(b, number);
      auto* const target = static_cast<std::byte*>(tensors[2]) + rows.offset(to, number);
      constexpr std::int64_t size{sizeof(float)};
      for (std::int64_t i = 0; i < rows.length; ++i) {
        const double result = function(read<float>(first + i * last_step(a) * size),
                                       read<float>(second + i * last_step(b) * size));
        store(to.type, &result, target + i * last_step(to) * bytes_of_element(to.type), 1, 1);
      }
    });
  };
}

Loop resize_loop(Elements from, Elements to, std::vector<Taps> rows, std::vector<Taps> columns) {
  return [from = std::move(from), to = std::move(to), rows = std::move(rows),
          columns = std::move(columns)](void* const* tensors) {
    const auto* const source = static_cast<const float*>(tensors[0]);
    auto* const target = static_cast<float*>(tensors[1]);
    const std::int64_t planes = to.dims[0], height = to.dims[1], width = to.dims[2];
#pragma omp parallel for if (planes > 1)
    for (std::int64_t plane = 0; plane < planes; ++plane) {
      const float* const image = source + plane * from.strides[0];
      for (std::int64_t y = 0; y < height; ++y) {
        const Taps& row = rows[static_cast<std::size_t>(y)];
        for (std::int64_t x = 0; x < width; ++x) {
          const Taps& column = columns[static_cast<std::size_t>(x)];
          float sum = 0;
          for (std::size_t i = 0; i < row.at.size(); ++i) {
            float line = 0;
            for (std::size_t k = 0; k < column.at.size(); ++k) {
              if (row.weight[i] == 0 || column.weight[k] == 0) continue;
              line += column.weight[k] *
                      image[row.at[i] * from.strides[1] + column.at[k] * from.strides[2]];
            }
            sum += row.weight[i] * line;
          }
          target[plane * to.strides[0] + y * to.strides[1] + x * to.strides[2]] = sum;
        }
      }
    }
  };
}

}  // namespace gantry::dnnl_plugin
