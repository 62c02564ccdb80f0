// SPDX-License-Identifier: Apache-2.0
//
// gantry/matrix_product.hpp - the arguments of products of matrices that compiled code calls by name:
// `tvm.contrib.cblas.matmul` and its sisters for other libraries.
//
//     // matmul(A, B, C, transa, transb[, alpha[, beta]])
//     GANTRY_TRY(const MatrixProduct product, matrix_product_of(call, 2, cpu_device_type));
//
// source   apache/tvm src/runtime/contrib/cblas/gemm_common.h
#pragma once

#include <gantry/call.hpp>
#include <gantry/cpu_tensor.hpp>
#include <gantry/device_name.hpp>
#include <gantry/dtype_text.hpp>
#include <gantry/result.hpp>
#include <gantry/tensor_text.hpp>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <utility>

namespace gantry {

// Argument names, for errors.
inline constexpr std::string_view matmul_usage = "matmul(A, B, C, transa, transb[, alpha, beta])";

// op(A), op(B) or C: a matrix, or a batch of matrices, whose elements are adjacent in rows or in columns.
struct MatrixOperand {
  const gantry_tensor* tensor;
  std::int64_t batch, rows, columns;
  // distance of matrices, rows and columns in elements
  std::int64_t batch_step, row_step, column_step;

  bool is_transposed() const { return column_step != 1 && columns > 1; }
  // Distance of rows, or of columns if it is transposed.
  std::int64_t distance() const {
    return is_transposed() ? std::max(column_step, rows)
                           : std::max({rows > 1 ? row_step : 0, columns, std::int64_t{1}});
  }
  // Distance of the matrices that a batch uses: 0 if it has one for all.
  std::int64_t used_batch_step() const { return batch == 1 ? 0 : batch_step; }
  // Number of the first element of matrix `number`.
  std::int64_t first_of(std::int64_t number) const { return number * used_batch_step(); }
  // True for the layouts of libraries: no extent is 0, lines do not overlap, numbers are at most `max`.
  bool is_for_library(std::int64_t max) const {
    const auto fits = [max](std::int64_t number) { return number > 0 && number <= max; };
    if (!fits(rows) || !fits(columns) || !fits(distance())) return false;
    const std::int64_t adjacent = is_transposed() ? rows : columns;
    const std::int64_t step = is_transposed() ? column_step : row_step;
    const std::int64_t lines = is_transposed() ? columns : rows;
    if (lines > 1 && step < adjacent) return false;
    return !(is_transposed() && rows > 1 && row_step != 1);
  }
};

// C = alpha op(A) op(B) + beta C
struct MatrixProduct {
  MatrixOperand a, b, c;
  double alpha = 1, beta = 0;

  bool is_for_library(std::int64_t max) const {
    return a.is_for_library(max) && b.is_for_library(max) && c.is_for_library(max);
  }
};

namespace detail {

inline Result<MatrixOperand> matrix_operand_at(const Call& call, std::size_t i, std::int32_t rank,
                                               std::int32_t device_type, bool is_flipped) {
  GANTRY_TRY(const gantry_tensor* const tensor, call.tensor(i));
  if (tensor->device.type != device_type || tensor->ndim != rank) {
    return call.wrong(
        i, concat("a tensor of rank ", rank, " on ",
                  device_type == cpu_device_type ? concat("the CPU")
                                                 : concat("a device ", dlpack_name(device_type))));
  }
  if (!is_empty(*tensor)) GANTRY_CHECK(tensor_bytes(shape_of(*tensor), tensor->dtype));
  GANTRY_CHECK(check_aligned(call, i, *tensor));
  const std::int64_t* const shape = tensor->shape + (rank - 2);
  MatrixOperand operand{tensor,
                        rank == 3 ? tensor->shape[0] : 1,
                        shape[0],
                        shape[1],
                        is_empty(*tensor) ? 0 : shape[0] * shape[1],
                        shape[1],
                        1};
  if (tensor->strides != nullptr) {
    const std::int64_t* const strides = tensor->strides + (rank - 2);
    if (rank == 3) operand.batch_step = tensor->strides[0];
    operand.row_step = strides[0];
    operand.column_step = strides[1];
    const bool has_rows = operand.column_step == 1 || operand.columns <= 1;
    const bool has_columns = operand.row_step == 1 || operand.rows <= 1;
    if ((!has_rows && !has_columns) || operand.row_step < 0 || operand.column_step < 0 ||
        operand.batch_step < 0)
      return call.wrong(i, "a tensor whose rows or columns are adjacent elements");
  }
  if (is_flipped) {
    std::swap(operand.rows, operand.columns);
    std::swap(operand.row_step, operand.column_step);
  }
  return operand;
}

}  // namespace detail

// Reads matmul(A, B, C, transa, transb[, alpha[, beta]]). A or B of a batch may have one matrix for all.
//
// rank         [in]   2, or 3 for batches
// device_type  [in]   of all three tensors
// returns      INVALID  the arguments are no such product
inline Result<MatrixProduct> matrix_product_of(const Call& call, std::int32_t rank,
                                               std::int32_t device_type) {
  GANTRY_CHECK(call.count_is(5, 7));
  MatrixProduct product{};
  GANTRY_TRY(const bool flips_a, call.flag(3));
  GANTRY_TRY(const bool flips_b, call.flag(4));
  product.alpha = 1;
  if (call.args.size() > 5) {
    GANTRY_TRY(product.alpha, call.real(5));
  }
  if (call.args.size() > 6) {
    GANTRY_TRY(product.beta, call.real(6));
  }
  GANTRY_TRY(product.a, detail::matrix_operand_at(call, 0, rank, device_type, flips_a));
  GANTRY_TRY(product.b, detail::matrix_operand_at(call, 1, rank, device_type, flips_b));
  GANTRY_TRY(product.c, detail::matrix_operand_at(call, 2, rank, device_type, false));
  const MatrixOperand &a = product.a, &b = product.b, &c = product.c;
  if (c.is_transposed()) return call.wrong(2, "a tensor whose rows are adjacent elements");
  if (a.rows != c.rows || b.columns != c.columns || a.columns != b.rows) {
    return call.refuse("a product of ", a.rows, " x ", a.columns, " and ", b.rows, " x ", b.columns,
                       " does not have the ", c.rows, " x ", c.columns,
                       " elements of argument 2 (C)");
  }
  if (c.batch != std::max(a.batch, b.batch) || (a.batch != 1 && a.batch != c.batch) ||
      (b.batch != 1 && b.batch != c.batch)) {
    return call.refuse("batches have ", a.batch, ", ", b.batch, " and ", c.batch,
                       " matrices, expected equal numbers, or 1 of A or B");
  }
  return product;
}

// returns  INVALID  A has none of the types, or B or C has another one than A
inline Status check_product_types(const Call& call, const MatrixProduct& product,
                                  std::initializer_list<gantry_dtype> types) {
  const gantry_dtype type = product.a.tensor->dtype;
  const bool is_known =
      std::ranges::any_of(types, [&](gantry_dtype each) { return same_dtype(each, type); });
  if (!is_known)
    return call.wrong(0,
                      types.size() == 1 ? "a tensor of float32" : "a tensor of float32 or float64");
  for (std::size_t i = 1; i < 3; ++i) {
    const gantry_tensor& other = *(i == 1 ? product.b : product.c).tensor;
    if (!same_dtype(other.dtype, type))
      return call.wrong(i, concat("a tensor of ", dtype_text(type)));
  }
  return {};
}

}  // namespace gantry
