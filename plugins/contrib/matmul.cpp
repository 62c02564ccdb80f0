// SPDX-License-Identifier: Apache-2.0
//
// Products of matrices, `tvm.contrib.cblas.*`, `tvm.contrib.mkl.*` and `tvm.contrib.dnnl.*`: with the
// host's BLAS, else by loops.
//
// source   apache/tvm src/runtime/contrib/cblas/gemm_common.h, dnnl/dnnl.cc
#include "arguments.hpp"
#include "blas.hpp"
#include "product.hpp"

#include <gantry/convolution_call.hpp>
#include <gantry/device_name.hpp>
#include <gantry/dtype_text.hpp>
#include <gantry/matrix_product.hpp>
#include <gantry/tensor_text.hpp>
#include <gantry/trace.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>

namespace gantry::contrib {
namespace {

Result<MatrixProduct> product_of(const Call& call, std::int32_t rank) {
  return matrix_product_of(call, rank, cpu_device_type);
}

ProductSize size_of(const MatrixProduct& product) {
  return {product.c.rows, product.c.columns, product.a.columns};
}

// The elements of matrix `number` of a batch.
template <class T>
MatrixView<T> view_of(const MatrixOperand& operand, std::int64_t number) {
  T* const first = data_of<T>(*operand.tensor);
  return {first + operand.first_of(number), operand.row_step, operand.column_step};
}

template <class T>
using Gemm = void (*)(int, int, int, int, int, int, T, const T*, int, const T*, int, T, T*, int);

// Returns NULL if the library cannot compute it.
template <class T>
Gemm<T> gemm_for(const MatrixProduct& product) {
  const Blas* const library = blas();
  if (library == nullptr) return nullptr;
  if (!product.is_for_library(std::numeric_limits<int>::max())) return nullptr;
  if constexpr (std::is_same_v<T, float>)
    return library->sgemm;
  else
    return library->dgemm;
}

template <class T>
Status multiply_batch(const Services& services, const Call& call, const MatrixProduct& product) {
  const ProductSize size = size_of(product);
  const auto gemm = gemm_for<T>(product);
  const TracedWork traced(services.host,
                          concat(call.usage.substr(0, call.usage.find('(')), " with ",
                                 gemm != nullptr ? blas()->name : std::string_view("loops")),
                          "library");
  const auto flag = [](const MatrixOperand& operand) {
    return operand.is_transposed() ? Blas::transposed : Blas::plain;
  };
  const auto narrow = [](std::int64_t number) { return static_cast<int>(number); };
  for (std::int64_t i = 0; i < product.c.batch; ++i) {
    GANTRY_CHECK(services.host.check_task(call.env));
    const auto a = view_of<const T>(product.a, i), b = view_of<const T>(product.b, i);
    const auto c = view_of<T>(product.c, i);
    if (gemm != nullptr) {
      gemm(Blas::row_major, flag(product.a), flag(product.b), narrow(size.m), narrow(size.n),
           narrow(size.k), static_cast<T>(product.alpha), a.data, narrow(product.a.distance()),
           b.data, narrow(product.b.distance()), static_cast<T>(product.beta), c.data,
           narrow(product.c.distance()));
      continue;
    }
    const Work work{services.host, call.env, services.threads,
                    std::min(size.m, services.threads.pieces_of(size.n))};
    GANTRY_CHECK(multiply(work, size, product.alpha, a, b, product.beta, c));
  }
  return {};
}

// types    [in]   that all three tensors may have
Result<Value> run_product(const Services& services, const Call& call, std::int32_t rank,
                          std::initializer_list<gantry_dtype> types) {
  GANTRY_TRY(const MatrixProduct product, product_of(call, rank));
  GANTRY_CHECK(check_product_types(call, product, types));
  if (is_empty(*product.c.tensor)) return Value();
  GANTRY_CHECK(same_dtype(product.a.tensor->dtype, dtypes::float32)
                   ? multiply_batch<float>(services, call, product)
                   : multiply_batch<double>(services, call, product));
  return Value();
}

template <std::int32_t rank>
Result<Value> floats(const Services& services, const Call& call) {
  return run_product(services, call, rank, {dtypes::float32, dtypes::float64});
}

Result<Value> float32_matmul(const Services& services, const Call& call) {
  return run_product(services, call, 2, {dtypes::float32});
}

Result<Value> integers(const Services& services, const Call& call) {
  GANTRY_TRY(const MatrixProduct product, product_of(call, 2));
  constexpr gantry_dtype types[] = {dtypes::uint8, dtypes::int8, dtypes::int32};
  for (std::size_t i = 0; i < 3; ++i) {
    GANTRY_TRY(const gantry_tensor* const tensor, call.tensor(i));
    if (!same_dtype(tensor->dtype, types[i]))
      return call.wrong(i, concat("a tensor of ", dtype_text(types[i])));
  }
  const ProductSize size = size_of(product);
  if (is_empty(*product.c.tensor)) return Value();
  const TracedWork traced(services.host, "matmul_u8s8s32 with loops", "library");
  const Work work{services.host, call.env, services.threads,
                  std::min(size.m, services.threads.pieces_of(size.n))};
  GANTRY_CHECK(multiply(work, size, product.alpha, view_of<const std::uint8_t>(product.a, 0),
                        view_of<const std::int8_t>(product.b, 0), product.beta,
                        view_of<std::int32_t>(product.c, 0)));
  return Value();
}

// dnnl.conv2d(x, w, out, top, left, bottom, right, stride h, stride w, groups, channels last, ...)
Result<Value> conv2d(const Services& services, const Call& call) {
  GANTRY_TRY(const Conv2dCall conv, read_conv2d(call));
  if (is_empty(*conv.out)) return Value();
  const Conv2dCall::Axes &x = conv.x_axes, &w = conv.w_axes, &y = conv.out_axes;
  const float* const from = data_of<const float>(*conv.x);
  const float* const weights = data_of<const float>(*conv.w);
  float* const to = data_of<float>(*conv.out);
  const TracedWork traced(services.host, "conv2d with loops", "library");
  const std::int64_t planes = y.outer * y.inner;
  const Work work{services.host, call.env, services.threads,
                  std::min(planes, services.threads.count())};
  Status done = work.in_pieces(planes, [&](Piece piece, std::int64_t) -> Status {
    for (std::int64_t plane = piece.begin; plane < piece.end; ++plane) {
      const std::int64_t image = plane / y.inner, channel = plane % y.inner;
      const std::int64_t first = channel / (y.inner / conv.groups) * w.inner;
      for (std::int64_t row = 0; row < y.height; ++row) {
        GANTRY_CHECK(work.host.check_task(work.env));
        for (std::int64_t column = 0; column < y.width; ++column) {
          float sum = 0;
          for (std::int64_t ky = 0; ky < w.height; ++ky) {
            const std::int64_t in_row = row * conv.step_y - conv.top + ky;
            if (in_row < 0 || in_row >= x.height) continue;
            for (std::int64_t kx = 0; kx < w.width; ++kx) {
              const std::int64_t in_column = column * conv.step_x - conv.left + kx;
              if (in_column < 0 || in_column >= x.width) continue;
              const float* const pixel = from + image * x.outer_step + first * x.inner_step +
                                         in_row * x.row_step + in_column * x.column_step;
              const float* const factor =
                  weights + channel * w.outer_step + ky * w.row_step + kx * w.column_step;
              for (std::int64_t c = 0; c < w.inner; ++c)
                sum += pixel[c * x.inner_step] * factor[c * w.inner_step];
            }
          }
          to[image * y.outer_step + channel * y.inner_step + row * y.row_step +
             column * y.column_step] = sum;
        }
      }
    }
    return {};
  });
  GANTRY_CHECK(std::move(done));
  return Value();
}

constexpr std::string_view batch_usage = "batch_matmul(A, B, C, transa, transb[, alpha, beta])";
constexpr std::string_view iterative_usage =
    "batch_matmul_iterative(A, B, C, transa, transb[, alpha, beta])";

constexpr FunctionRow matmul_rows[] = {
    {"tvm.contrib.cblas.matmul", matmul_usage, floats<2>},
    {"tvm.contrib.cblas.batch_matmul", batch_usage, floats<3>},
    {"tvm.contrib.cblas.batch_matmul_iterative", iterative_usage, floats<3>},
    {"tvm.contrib.mkl.matmul", matmul_usage, floats<2>},
    {"tvm.contrib.mkl.batch_matmul", batch_usage, floats<3>},
    {"tvm.contrib.mkl.batch_matmul_iterative", iterative_usage, floats<3>},
    {"tvm.contrib.mkl.matmul_u8s8s32", "matmul_u8s8s32(A, B, C, transa, transb[, alpha, beta])",
     integers},
    {"tvm.contrib.dnnl.matmul", matmul_usage, float32_matmul},
    {"tvm.contrib.dnnl.conv2d", conv2d_usage, conv2d},
};

}  // namespace

std::span<const FunctionRow> matmul_functions() { return matmul_rows; }

}  // namespace gantry::contrib
