// SPDX-License-Identifier: Apache-2.0
//
// `tvm.contrib.cudnn.softmax.forward` and `log_softmax.forward`.
//
// source   apache/tvm src/runtime/contrib/cudnn/softmax.cc
#include "function.hpp"

#include <gantry/dtype_text.hpp>
#include <gantry/trace.hpp>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>

namespace gantry::cuda_libraries {
namespace {

struct SoftmaxType {
  gantry_dtype dtype;
  int cudnn;
};
constexpr SoftmaxType softmax_types[] = {
    {dtypes::float16, cudnn_float16},
    {dtypes::bfloat16, cudnn_bfloat16},
    {dtypes::float32, cudnn_float32},
    {dtypes::float64, cudnn_float64},
};

// A tensor as groups of `channels` rows of `row` elements: softmax is along the rows.
struct SoftmaxJob {
  const gantry_tensor *x, *y;
  int type;
  int outer, channels, row;
};

Result<SoftmaxJob> read_softmax(const Call& call) {
  GANTRY_CHECK(call.count_is(3));
  SoftmaxJob job{};
  GANTRY_TRY(job.x, compact_cuda_at(call, 0));
  GANTRY_TRY(job.y, compact_cuda_at(call, 1));
  GANTRY_TRY(const std::int64_t given, call.integer(2));
  const auto shape = shape_of(*job.x);
  const auto rank = static_cast<std::int64_t>(shape.size());
  if (given < -rank || given >= rank)
    return call.refuse("axis is ", given, ", the rank of ", tensor_text(*job.x), " is ", rank);
  if (!std::ranges::equal(shape, shape_of(*job.y)) || !same_dtype(job.x->dtype, job.y->dtype))
    return call.wrong(1, concat("a tensor of ", tensor_text(*job.x)));
  GANTRY_CHECK(check_one_device(call, *job.x, *job.y));
  const auto type = std::ranges::find_if(
      softmax_types, [&](const SoftmaxType& each) { return same_dtype(each.dtype, job.x->dtype); });
  if (type == std::end(softmax_types))
    return call.wrong(0, "a tensor of float16, bfloat16, float32 or float64");
  job.type = type->cudnn;
  if (is_empty(*job.x)) return job;
  GANTRY_CHECK(tensor_bytes(shape, job.x->dtype));
  const auto axis = static_cast<std::size_t>(given < 0 ? given + rank : given);
  std::int64_t outer = 1, row = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i != axis) (i < axis ? outer : row) *= shape[i];
  }
  constexpr std::int64_t max = std::numeric_limits<int>::max();
  if (outer > max || row > max || shape[axis] > max)
    return call.refuse(tensor_text(*job.x), " has more than ", max,
                       " rows, which cuDNN does not read");
  job.outer = static_cast<int>(outer);
  job.channels = static_cast<int>(shape[axis]);
  job.row = static_cast<int>(row);
  return job;
}

Status run_softmax(Services& services, const Call& call, const SoftmaxJob& job, int algorithm) {
  GANTRY_TRY(const Driver* const driver, services.driver());
  GANTRY_TRY(const Cudnn* const cudnn, services.cudnn());
  GANTRY_TRY(const Session session,
             Session::begin(*driver, services.host, *call.env, job.x->device));
  const TracedWork traced(services.host,
                          concat(call.usage.substr(0, call.usage.find('(')), " with ", cudnn->name),
                          "library");
  GANTRY_TRY(const auto handle, services.cudnn_handles.take(*cudnn, *driver, session));
  GANTRY_CHECK(cudnn->check("cudnnSetStream", cudnn->set_stream(handle->handle, session.stream())));
  GANTRY_CHECK(cudnn->check(
      "cudnnSetTensor4dDescriptor",
      cudnn->tensor_set_4d(handle->x, cudnn_nchw, job.type, job.outer, job.channels, job.row, 1)));
  const float one = 1, zero = 0;
  const double one_double = 1, zero_double = 0;
  const bool is_double = job.type == cudnn_float64;
  const int mode = job.row == 1 ? cudnn_softmax_instance : cudnn_softmax_channel;
  return cudnn->check(
      "cudnnSoftmaxForward",
      cudnn->softmax(handle->handle, algorithm, mode,
                     is_double ? static_cast<const void*>(&one_double) : &one, handle->x,
                     address_of(*job.x), is_double ? static_cast<const void*>(&zero_double) : &zero,
                     handle->x, address_of(*job.y)));
}

template <int algorithm>
Result<Value> softmax(Services& services, const Call& call) {
  GANTRY_TRY(const SoftmaxJob job, read_softmax(call));
  if (is_empty(*job.x)) return Value();
  Status done = run_softmax(services, call, job, algorithm);
  if (done.ok()) return Value();
  return std::move(done).failure().at("in a softmax of ", tensor_text(*job.x));
}

constexpr FunctionRow softmax_rows[] = {
    {"tvm.contrib.cudnn.softmax.forward", "softmax.forward(x, y, axis)",
     softmax<cudnn_softmax_accurate>},
    {"tvm.contrib.cudnn.log_softmax.forward", "log_softmax.forward(x, y, axis)",
     softmax<cudnn_softmax_log>},
};

}  // namespace

std::span<const FunctionRow> softmax_functions() { return softmax_rows; }

}  // namespace gantry::cuda_libraries
