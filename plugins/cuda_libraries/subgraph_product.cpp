// SPDX-License-Identifier: Apache-2.0
//
// `cublas.matmul` and `cublas.matmul_transposed`: products of matrices of any number of dimensions, as NumPy has them.
#include "product.hpp"
#include "subgraph_operator.hpp"

#include <gantry/matrix_product.hpp>
#include <gantry/tensor_text.hpp>

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>

namespace gantry::cuda_libraries {
namespace {

using Dims = std::span<const std::int64_t>;

std::int64_t count_of(Dims dims) {
  return std::accumulate(dims.begin(), dims.end(), std::int64_t{1}, std::multiplies<>());
}

// The extents before those of a matrix, or of a vector, without those of 1 in front.
Dims batch_of(Dims dims) {
  Dims batch = dims.first(dims.size() - std::min<std::size_t>(dims.size(), 2));
  while (!batch.empty() && batch.front() == 1) batch = batch.subspan(1);
  return batch;
}
bool is_one(Dims batch) {
  return std::ranges::all_of(batch, [](std::int64_t extent) { return extent == 1; });
}

// Removes the extents of a tensor's part from the beginning of its own, of which those of 1 are left out on both sides.
bool take_dims(Dims& dims, Dims part) {
  for (const std::int64_t extent : part) {
    if (extent == 1) continue;
    while (!dims.empty() && dims.front() == 1) dims = dims.subspan(1);
    if (dims.empty() || dims.front() != extent) return false;
    dims = dims.subspan(1);
  }
  return true;
}

// A tensor of rank 2 or 3 with the elements of another one, which is compact.
class Reshaped {
 public:
  Reshaped(const gantry_tensor& whole, std::int64_t batch, std::int64_t rows, std::int64_t columns,
           std::int32_t rank)
      : shape_{batch, rows, columns}, tensor_(whole) {
    tensor_.ndim = rank;
    tensor_.shape = shape_.data() + (3 - rank);
    tensor_.strides = nullptr;
  }
  Reshaped(const Reshaped&) = delete;
  Reshaped& operator=(const Reshaped&) = delete;
  gantry_value value() { return tensor_ref_value(&tensor_); }

 private:
  std::array<std::int64_t, 3> shape_;
  gantry_tensor tensor_;
};

class Product final : public Operator {
 public:
  Product(bool is_transposed, const Fusions& fusions, double factor)
      : is_transposed_(is_transposed),
        factor_(factor),
        has_bias_(fusions.has_bias),
        activation_(fusions.activation == "relu"   ? ProductActivation::relu
                    : fusions.activation == "gelu" ? ProductActivation::gelu
                                                   : ProductActivation::none) {}

  Status run(const OperatorCall& call) const override {
    const gantry_tensor &left = call.inputs[0], &right = call.inputs[1];
    const auto refuse = [&] {
      return invalid("a product of ", tensor_text(left), " and ", tensor_text(right),
                     is_transposed_ ? ", transposed," : "", " is no ", tensor_text(call.output))
          .with_reason("ARGUMENT");
    };
    for (const gantry_tensor* const tensor : {&left, &right, &call.output}) {
      if (!is_empty(*tensor)) GANTRY_CHECK(tensor_bytes(shape_of(*tensor), tensor->dtype));
    }
    const Dims a_dims = shape_of(left), b_dims = shape_of(right), c_dims = shape_of(call.output);
    if (a_dims.empty() || b_dims.size() < (is_transposed_ ? 2u : 1u)) return refuse();
    const std::int64_t a_rows = a_dims.size() < 2 ? 1 : a_dims[a_dims.size() - 2];
    const std::int64_t inner = a_dims.back();
    const std::size_t b_rank = b_dims.size();
    const std::int64_t b_rows = b_rank < 2 ? b_dims[0] : b_dims[b_rank - 2];
    const std::int64_t b_columns = b_rank < 2 ? 1 : b_dims[b_rank - 1];
    const std::int64_t columns = is_transposed_ ? b_rows : b_columns;
    if ((is_transposed_ ? b_columns : b_rows) != inner) return refuse();
    const Dims a_batch = batch_of(a_dims), b_batch = batch_of(b_dims);
    const bool is_one_a = is_one(a_batch), is_one_b = is_one(b_batch);
    if (!is_one_a && !is_one_b && !std::ranges::equal(a_batch, b_batch)) {
      return unsupported("a product of ", tensor_text(left), " and ", tensor_text(right),
                         " repeats parts of both batches, supported are as many matrices, or one")
          .with_reason("SUBGRAPH_OPERATOR");
    }
    // The extents of the result, of which those of 1 say nothing.
    const Dims batch = is_one_a ? b_batch : a_batch;
    const std::int64_t matrix[] = {a_rows, columns};
    Dims rest = c_dims;
    if (!take_dims(rest, batch) || !take_dims(rest, matrix) || !is_one(rest)) return refuse();
    if (is_empty(call.output)) return {};
    if (inner == 0) {
      return unsupported("a product of ", tensor_text(left), " and ", tensor_text(right),
                         " has sums without terms, which cuBLASLt does not compute")
          .with_reason("SUBGRAPH_OPERATOR");
    }

    // One matrix for all of a batch: they are rows.
    const std::int32_t rank = is_one_b ? 2 : 3;
    const std::int64_t a_count = count_of(a_batch), b_count = count_of(b_batch);
    const std::int64_t rows = is_one_b ? a_count * a_rows : a_rows;
    Reshaped first(left, a_count, rows, inner, rank);
    Reshaped second(right, b_count, b_rows, b_columns, rank);
    Reshaped result(call.output, std::max(a_count, b_count), rows, columns, rank);
    const std::array<gantry_value, 6> args{first.value(),
                                           second.value(),
                                           result.value(),
                                           int_value(0),
                                           int_value(is_transposed_ ? 1 : 0),
                                           float_value(factor_)};
    return product_with(call.services, {matmul_usage, call.env, args}, rank,
                        {has_bias_ ? &call.inputs[2] : nullptr, activation_});
  }

 private:
  bool is_transposed_;
  // of the sums
  double factor_;
  bool has_bias_;
  ProductActivation activation_;
};

template <bool is_transposed>
Result<std::unique_ptr<const Operator>> make_product(const SubgraphNode&, const Fusions& fusions) {
  return std::make_unique<const Product>(is_transposed, fusions, 1);
}

// Products of int8 in floating point.
Result<std::unique_ptr<const Operator>> make_scaled(const SubgraphNode& node,
                                                    const Fusions& fusions) {
  GANTRY_TRY(const float scale, SubgraphAttributes(node).real("dq_scale"));
  return std::make_unique<const Product>(true, fusions, static_cast<double>(scale));
}

constexpr OperatorRow product_rows[] = {
    {"cublas_json", "cublas.matmul_transposed", "bias relu gelu", "", 2, 2, make_product<true>},
    {"cublas_json", "cublas.matmul_transposed_dequantize", "", "dq_scale", 2, 2, make_scaled},
    {"cublas_json", "cublas.matmul", "bias relu gelu", "", 2, 2, make_product<false>},
};

}  // namespace

std::span<const OperatorRow> product_operators() { return product_rows; }

}  // namespace gantry::cuda_libraries
