// SPDX-License-Identifier: Apache-2.0
//
// Steps without a primitive: conversions of elements, and functions that oneDNN does not have.
#pragma once

#include "onednn.hpp"

#include <gantry/tensor.h>

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

namespace gantry::dnnl_plugin {

enum class ElementType : std::uint8_t {
  float32,
  float16,
  bfloat16,
  float8_e4m3fn,
  int32,
  int8,
  uint8,
  boolean,
};

// returns  nullopt: a type that no operator of the table has
std::optional<ElementType> element_type_of(gantry_dtype dtype);
ElementType element_type_of(DataType type);
// Returns the type with which oneDNN moves such elements.
DataType data_type_of(ElementType type);
// True for floating-point types of less than 32 bits.
bool is_narrow(ElementType type);

// A tensor in memory, without blocks. Strides are in elements; 0 repeats an element.
struct Elements {
  ElementType type = ElementType::float32;
  Dims dims;
  Dims strides;
};

// Works on the first elements of its tensors, in the order of the step's arguments.
//
// thread   any, in parallel; uses OpenMP's threads
using Loop = std::function<void(void* const* tensors)>;

// Arguments: from, to. Converts each element: to integers toward zero, within the range of the type; to narrow
// types to the nearest, ties to even; float8_e4m3fn, which has no infinity, within its range.
//
// from, to [in]   of equal dims
Loop convert_loop(Elements from, Elements to);

// Arguments: from, to; float32. `function` is computed for each element.
Loop unary_loop(Elements from, Elements to, float (*function)(float));

// Arguments: a, b, to. a and b are float32, with the dims of `to` and strides of 0 where they have one element; to is
// float32 or boolean.
Loop binary_loop(Elements a, Elements b, Elements to, float (*function)(float, float));

// Sources of one coordinate of an image that is resized.
struct Taps {
  std::array<std::int64_t, 4> at{};
  std::array<float, 4> weight{};
};
// Arguments: from, to; float32 {images x channels, height, width}.
//
// rows, columns  [in]  taps of each coordinate of `to`
Loop resize_loop(Elements from, Elements to, std::vector<Taps> rows, std::vector<Taps> columns);

}  // namespace gantry::dnnl_plugin
