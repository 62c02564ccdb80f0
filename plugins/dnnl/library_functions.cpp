// SPDX-License-Identifier: Apache-2.0
#include "library_functions.hpp"

#include "failure_of.hpp"
#include "plugin.hpp"
#include "threads.hpp"

#include <gantry/abi_boundary.hpp>
#include <gantry/convolution_call.hpp>
#include <gantry/cpu_tensor.hpp>
#include <gantry/error_kind.hpp>
#include <gantry/matrix_product.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace gantry::dnnl_plugin {
namespace {

std::uint64_t bytes_of_tensor(const gantry_tensor& tensor) {
  const auto bytes = tensor_bytes(shape_of(tensor), tensor.dtype);
  return bytes.ok() ? *bytes : 0;
}

// A matrix as oneDNN reads it. Overlapping rows, which it refuses, are copied.
struct Factor {
  explicit Factor(const MatrixOperand& operand)
      : data(data_of<const float>(*operand.tensor)),
        distance(operand.distance()),
        flag(operand.is_transposed() ? 'T' : 'N') {
    if (operand.is_for_library(INT64_MAX)) return;
    copy.reserve(static_cast<std::size_t>(operand.rows * operand.columns));
    for (std::int64_t i = 0; i < operand.rows; ++i) {
      for (std::int64_t j = 0; j < operand.columns; ++j)
        copy.push_back(data[i * operand.row_step + j * operand.column_step]);
    }
    data = copy.data();
    distance = operand.columns;
    flag = 'N';
  }

  std::vector<float> copy;
  const float* data;
  std::int64_t distance;
  char flag;
};

Result<Value> matmul(const Plugin& plugin, const Call& call) {
  GANTRY_TRY(const MatrixProduct product, matrix_product_of(call, 2, cpu_device_type));
  GANTRY_CHECK(check_product_types(call, product, {dtypes::float32}));
  const MatrixOperand& c = product.c;
  if (!c.is_for_library(INT64_MAX) && !is_empty(*c.tensor))
    return call.wrong(2, "a tensor whose rows do not overlap");
  if (is_empty(*c.tensor)) return Value();
  GANTRY_CHECK(plugin.host.check_task(call.env));
  const TracedWork traced(plugin.host, concat("matmul with ", library_text()), "library");
  float* const to = data_of<float>(*c.tensor);
  if (product.a.columns == 0) {
    for (std::int64_t i = 0; i < c.rows; ++i) {
      for (std::int64_t j = 0; j < c.columns; ++j) {
        float& element = to[i * c.distance() + j];
        element = product.beta == 0 ? 0 : static_cast<float>(product.beta) * element;
      }
    }
    return Value();
  }
  const Factor a(product.a), b(product.b);
  const ThreadCount threads(threads_for(bytes_of_tensor(*product.a.tensor) +
                                            bytes_of_tensor(*product.b.tensor) +
                                            bytes_of_tensor(*c.tensor),
                                        plugin.threads));
  const dnnl_status_t status = dnnl_sgemm(
      a.flag, b.flag, c.rows, c.columns, product.a.columns, static_cast<float>(product.alpha),
      a.data, a.distance, b.data, b.distance, static_cast<float>(product.beta), to, c.distance());
  if (status != dnnl_success) return failure_of(status, "matmul");
  return Value();
}

Result<Value> conv2d(const Plugin& plugin, const Call& call) {
  GANTRY_TRY(const Conv2dCall conv, read_conv2d(call));
  if (is_empty(*conv.out)) return Value();
  GANTRY_CHECK(plugin.host.check_task(call.env));
  const TracedWork traced(plugin.host, concat("conv2d with ", library_text()), "library");
  const ThreadCount threads(
      threads_for(bytes_of_tensor(*conv.x) + bytes_of_tensor(*conv.w) + bytes_of_tensor(*conv.out),
                  plugin.threads));
  const auto desc = [](const Conv2dCall::Axes& axes) {
    return Desc(Dims{axes.outer, axes.inner, axes.height, axes.width}, DataType::f32,
                Dims{axes.outer_step, axes.inner_step, axes.row_step, axes.column_step});
  };
  const Conv2dCall::Axes& w = conv.w_axes;
  const std::int64_t each = w.outer / conv.groups;
  const Desc weights =
      conv.groups == 1
          ? desc(w)
          : Desc(Dims{conv.groups, each, w.inner, w.height, w.width}, DataType::f32,
                 Dims{each * w.outer_step, w.outer_step, w.inner_step, w.row_step, w.column_step});
  try {
    const auto primitive = describe<::dnnl::convolution_forward>(
        plugin.engine, ::dnnl::primitive_attr(), ::dnnl::prop_kind::forward_inference,
        ::dnnl::algorithm::convolution_direct, desc(conv.x_axes), weights, Desc(),
        desc(conv.out_axes), Dims{conv.step_y, conv.step_x}, Dims{0, 0}, Dims{conv.top, conv.left},
        Dims{conv.bottom, conv.right});
    const auto memory = [&](const Desc& of, const gantry_tensor& tensor) {
      return ::dnnl::memory(of, plugin.engine, data_of<void>(tensor));
    };
    ::dnnl::stream stream(plugin.engine);
    ::dnnl::convolution_forward(primitive).execute(
        stream, {{DNNL_ARG_SRC, memory(primitive.src_desc(), *conv.x)},
                 {DNNL_ARG_WEIGHTS, memory(primitive.weights_desc(), *conv.w)},
                 {DNNL_ARG_DST, memory(primitive.dst_desc(), *conv.out)}});
    stream.wait();
  } catch (const ::dnnl::error& error) {
    return failure_of(error.status, "conv2d");
  }
  return Value();
}

}  // namespace

Result<Value> LibraryFunction::call(const Call& call) const {
  return with_kind(plugin->host, guard([&] { return run(*plugin, {usage, call.env, call.args}); }));
}

std::map<std::string_view, LibraryFunction> library_functions(const Plugin& plugin) {
  return {{"tvm.contrib.dnnl.matmul", {matmul_usage, matmul, &plugin}},
          {"tvm.contrib.dnnl.conv2d", {conv2d_usage, conv2d, &plugin}}};
}

}  // namespace gantry::dnnl_plugin
