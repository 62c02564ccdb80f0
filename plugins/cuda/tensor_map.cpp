// SPDX-License-Identifier: Apache-2.0
//
// `runtime.cuTensorMapEncodeTiled`, which CPU code of kernels for Hopper and later GPUs calls: the driver
// writes the description of a tensor that kernels copy tile by tile.
//
// source   apache/tvm src/runtime/cuda/cuda_device_api.cc
#include "function.hpp"
#include "plugin.hpp"

#include <gantry/dtype_text.hpp>

#include <array>
#include <cstdint>
#include <optional>

namespace gantry::cuda {
namespace {

constexpr std::int64_t max_rank = 5;
constexpr std::uintptr_t map_alignment = 64, data_alignment = 16;

// CUtensorMapDataType; types that the driver only moves are those of unsigned integers.
std::optional<int> element_of(gantry_dtype dtype) {
  struct Row {
    TypeCode code;
    int bits, number;
  };
  constexpr Row rows[] = {
      {TypeCode::uint, 8, 0},    {TypeCode::int_, 8, 0},          {TypeCode::uint, 16, 1},
      {TypeCode::int_, 16, 1},   {TypeCode::uint, 32, 2},         {TypeCode::int_, 32, 3},
      {TypeCode::uint, 64, 4},   {TypeCode::int_, 64, 5},         {TypeCode::float_, 16, 6},
      {TypeCode::float_, 32, 7}, {TypeCode::float_, 64, 8},       {TypeCode::bfloat, 16, 9},
      {TypeCode::bool_, 8, 0},   {TypeCode::float4_e2m1fn, 4, 13}};
  const auto code = static_cast<TypeCode>(dtype.code);
  for (const Row& row : rows) {
    if (row.code == code && row.bits == dtype.bits) return row.number;
  }
  if (code >= TypeCode::float8_e3m4 && code <= TypeCode::float8_e8m0fnu) return 0;
  return std::nullopt;
}

Result<std::uintptr_t> address_at(const Call& call, std::size_t i, std::uintptr_t alignment) {
  if (i >= call.args.size() || call.args[i].kind != GANTRY_POINTER || call.args[i].p == nullptr)
    return call.wrong(i, "a pointer");
  const auto address = reinterpret_cast<std::uintptr_t>(call.args[i].p);
  if (address % alignment != 0) {
    return call.refuse(call.title(i), " is ", Hex{address}, ", expected a multiple of ", alignment);
  }
  return address;
}

// Reads numbers of 0 to `max`.
template <class T>
Result<std::array<T, max_rank>> numbers_at(const Call& call, std::size_t first, std::int64_t count,
                                           std::int64_t max) {
  std::array<T, max_rank> numbers{};
  for (std::int64_t i = 0; i < count; ++i) {
    const std::size_t at = first + static_cast<std::size_t>(i);
    GANTRY_TRY(const std::int64_t number, call.integer(at));
    if (number < 0 || number > max) {
      return call.refuse("argument ", at, " is ", number, ", expected a number from 0 to ", max);
    }
    numbers[static_cast<std::size_t>(i)] = static_cast<T>(number);
  }
  return numbers;
}

// map, dtype, rank, data, `rank` extents, rank - 1 strides in bytes, `rank` extents of a box and strides of
// elements, interleave, swizzle, L2 promotion, fill, and the driver's number of the type, which may be absent.
Result<Value> tensor_map_encode([[maybe_unused]] Plugin& plugin, const Call& call) {
#if CUDA_VERSION < 12000
  return unsupported(call.usage, ": gantry.cuda was compiled with the header of CUDA ",
                     CUDA_VERSION / 1000, ", tensor maps require that of CUDA 12")
      .with_reason("FUNCTION_ABSENT");
#else
  constexpr std::size_t first = 4, modes = 4;
  GANTRY_TRY(const std::uintptr_t map, address_at(call, 0, map_alignment));
  GANTRY_TRY(const gantry_dtype dtype, call.dtype(1));
  GANTRY_TRY(const std::int64_t rank, call.integer(2));
  GANTRY_TRY(const std::uintptr_t data, address_at(call, 3, data_alignment));
  if (rank < 1 || rank > max_rank)
    return call.refuse(call.title(2), " is ", rank, ", expected 1 to ", max_rank);
  const auto count = static_cast<std::size_t>(rank);
  const std::size_t strides_at = first + count, box_at = strides_at + count - 1,
                    steps_at = box_at + count, modes_at = steps_at + count;
  GANTRY_CHECK(call.count_is(modes_at + modes, modes_at + modes + 1));
  GANTRY_TRY(const auto extents, numbers_at<cuuint64_t>(call, first, rank, INT64_MAX));
  GANTRY_TRY(const auto strides, numbers_at<cuuint64_t>(call, strides_at, rank - 1, INT64_MAX));
  GANTRY_TRY(const auto box, numbers_at<cuuint32_t>(call, box_at, rank, UINT32_MAX));
  GANTRY_TRY(const auto steps, numbers_at<cuuint32_t>(call, steps_at, rank, UINT32_MAX));
  GANTRY_TRY(const auto mode, numbers_at<int>(call, modes_at, modes, INT32_MAX));
  std::optional<int> element = element_of(dtype);
  if (call.args.size() > modes_at + modes) {
    GANTRY_TRY(element, call.integer32(modes_at + modes));
  }
  if (!element) {
    return call.refuse(call.title(1), " is ", dtype_text(dtype), ", which tensor maps do not have");
  }
  GANTRY_TRY(const Driver* const driver, plugin.gpus.driver());
  GANTRY_CHECK(driver->call(
      driver->tensor_map_encode, reinterpret_cast<CUtensorMap*>(map),
      static_cast<CUtensorMapDataType>(*element), static_cast<cuuint32_t>(rank),
      reinterpret_cast<void*>(data), extents.data(), strides.data(), box.data(), steps.data(),
      static_cast<CUtensorMapInterleave>(mode[0]), static_cast<CUtensorMapSwizzle>(mode[1]),
      static_cast<CUtensorMapL2promotion>(mode[2]), static_cast<CUtensorMapFloatOOBfill>(mode[3])));
  return Value();
#endif
}

constexpr FunctionRow tensor_map_rows[] = {
    {"runtime.cuTensorMapEncodeTiled", "cuTensorMapEncodeTiled(map, dtype, rank, data, ...)",
     tensor_map_encode},
};

}  // namespace

std::span<const FunctionRow> tensor_map_functions() { return tensor_map_rows; }

}  // namespace gantry::cuda
