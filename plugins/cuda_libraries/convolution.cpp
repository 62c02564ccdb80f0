// SPDX-License-Identifier: Apache-2.0
//
// Convolutions and their gradients, `tvm.contrib.cudnn.conv*`.
//
// source   apache/tvm src/runtime/contrib/cudnn/conv_forward.cc, conv_backward.cc and cudnn_utils.cc
#include "function.hpp"

#include <gantry/dtype_text.hpp>
#include <gantry/trace.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <string>

namespace gantry::cuda_libraries {
namespace {

constexpr std::int64_t max_extent = std::numeric_limits<int>::max();
// The algorithm that a call leaves to the library.
constexpr int any_algorithm = -1;

// Element types of a convolution, and how it is computed. Data and filter are of one type.
struct ConvolutionType {
  gantry_dtype input, output, bias, compute;
  int cudnn_input, cudnn_output, cudnn_bias, cudnn_compute, math;
};
constexpr ConvolutionType convolution_types[] = {
    {dtypes::float32, dtypes::float32, dtypes::float32, dtypes::float32, cudnn_float32,
     cudnn_float32, cudnn_float32, cudnn_float32, cudnn_fma_math},
    {dtypes::float64, dtypes::float64, dtypes::float64, dtypes::float64, cudnn_float64,
     cudnn_float64, cudnn_float64, cudnn_float64, cudnn_default_math},
    {dtypes::float16, dtypes::float16, dtypes::float16, dtypes::float32, cudnn_float16,
     cudnn_float16, cudnn_float16, cudnn_float32, cudnn_tensor_core_math},
    {dtypes::bfloat16, dtypes::bfloat16, dtypes::bfloat16, dtypes::float32, cudnn_bfloat16,
     cudnn_bfloat16, cudnn_bfloat16, cudnn_float32, cudnn_tensor_core_math},
    {dtypes::int8, dtypes::int8, dtypes::float32, dtypes::int32, cudnn_int8, cudnn_int8,
     cudnn_float32, cudnn_int32, cudnn_tensor_core_math},
    {dtypes::int8, dtypes::float32, dtypes::float32, dtypes::int32, cudnn_int8, cudnn_float32,
     cudnn_float32, cudnn_int32, cudnn_tensor_core_math},
};

// The tensors of a convolution: the data, the filter and the output, or their gradients.
enum Role : std::size_t { data_role = 0, filter_role = 1, output_role = 2 };

// A convolution or one of its gradients: which functions of cuDNN, and which tensor is which.
struct Direction {
  CudnnConvolution Cudnn::*functions;
  // in the order of a call's arguments, of which the last is written
  std::array<Role, 3> arguments;
  // in that of the library's
  std::array<Role, 3> operands;
};
constexpr Direction forward{
    &Cudnn::forward, {data_role, filter_role, output_role}, {data_role, filter_role, output_role}};
constexpr Direction backward_data{&Cudnn::backward_data,
                                  {output_role, filter_role, data_role},
                                  {filter_role, output_role, data_role}};
constexpr Direction backward_filter{&Cudnn::backward_filter,
                                    {output_role, data_role, filter_role},
                                    {data_role, output_role, filter_role}};

struct Convolution {
  // number of spatial dimensions: 2 or 3
  std::size_t rank;
  int layout, mode = cudnn_cross_correlation, groups;
  std::array<int, 3> pads, strides, dilations;
  // of each role, in the order of the layout
  std::array<std::array<int, 5>, 3> shapes;
  const ConvolutionType* type;

  int extent(Role role, std::size_t axis) const { return shapes[role][axis]; }
  std::size_t channel_axis() const { return layout == cudnn_nhwc ? rank + 1 : 1; }
  std::size_t first_spatial_axis() const { return layout == cudnn_nhwc ? 1 : 2; }
};

Result<const ConvolutionType*> convolution_type_of(const Call& call, std::size_t at,
                                                   gantry_dtype input, std::size_t output_at,
                                                   gantry_dtype output) {
  bool is_known = false;
  for (const ConvolutionType& type : convolution_types) {
    if (!same_dtype(type.input, input)) continue;
    is_known = true;
    if (same_dtype(type.output, output)) return &type;
  }
  if (is_known)
    return call.wrong(output_at,
                      concat("elements that a convolution of ", dtype_text(input), " has"));
  return call.wrong(at, "elements of float16, bfloat16, float32, float64 or int8");
}

// Checks the type in which a call asks for the sums. They are never in a narrower one than here.
Status check_compute_type(const Call& call, std::size_t i, const ConvolutionType& type) {
  GANTRY_TRY(const gantry_dtype dtype, call.dtype(i));
  for (const gantry_dtype known : {type.input, type.output, type.compute}) {
    if (same_dtype(dtype, known)) return {};
  }
  return call.refuse(call.title(i), " is ", dtype_text(dtype), ", expected ",
                     dtype_text(type.compute), " for a convolution of ", dtype_text(type.input));
}

// Numbers from `min` on, each an argument.
Status read_numbers(const Call& call, std::size_t first, std::span<int> into, int min) {
  for (std::size_t i = 0; i < into.size(); ++i) {
    GANTRY_TRY(into[i], call.integer32(first + i));
    if (into[i] < min)
      return call.refuse(call.title(first + i), " is ", into[i], ", expected a number from ", min);
  }
  return {};
}

Result<int> read_number(const Call& call, std::size_t i, int min, int max) {
  GANTRY_TRY(const std::int32_t number, call.integer32(i));
  if (number >= min && number <= max) return number;
  return call.refuse(call.title(i), " is ", number, ", expected a number from ", min,
                     max == max_extent ? std::string() : concat(" to ", max));
}

Status read_layout(const Call& call, std::size_t i, Convolution& into) {
  const int max = into.rank == 2 ? cudnn_nhwc : cudnn_nchw;
  GANTRY_TRY(into.layout, read_number(call, i, cudnn_nchw, max));
  return {};
}

// returns  INVALID  the shapes are not those of one convolution
Status check_shapes(const Call& call, const Convolution& what) {
  const std::size_t channel = what.channel_axis();
  const auto extent = [&](Role role, std::size_t axis) {
    return std::int64_t{what.extent(role, axis)};
  };
  bool fits = extent(data_role, 0) == extent(output_role, 0) &&
              extent(filter_role, 0) == extent(output_role, channel) &&
              extent(filter_role, 0) % what.groups == 0 &&
              extent(filter_role, channel) * what.groups == extent(data_role, channel);
  for (std::size_t i = 0; i < what.rank && fits; ++i) {
    const std::size_t axis = what.first_spatial_axis() + i;
    const std::int64_t padded = extent(data_role, axis) + 2 * std::int64_t{what.pads[i]};
    const std::int64_t window = (extent(filter_role, axis) - 1) * what.dilations[i] + 1;
    fits = window <= padded && extent(output_role, axis) == (padded - window) / what.strides[i] + 1;
  }
  // The distance of images is a number of the library's descriptors.
  for (const Role role : {data_role, filter_role, output_role}) {
    std::int64_t step = 1;
    for (std::size_t axis = 1; axis < what.rank + 2 && step <= max_extent; ++axis)
      step *= extent(role, axis);
    if (step > max_extent)
      return call.refuse("an image has more than ", max_extent,
                         " elements, which cuDNN does not read");
  }
  if (fits) return {};
  const auto text = [&](Role role) {
    std::array<std::int64_t, 5> shape{};
    std::copy_n(what.shapes[role].begin(), what.rank + 2, shape.begin());
    return type_text(role == output_role ? what.type->output : what.type->input,
                     std::span(shape).first(what.rank + 2));
  };
  return call.refuse("a convolution of ", text(data_role), " with ", text(filter_role), " in ",
                     what.groups, " groups is no ", text(output_role));
}

// A convolution of tensors.
struct TensorConvolution {
  Convolution what;
  // of each role
  std::array<const gantry_tensor*, 3> tensors;
  int algorithm;

  bool is_empty(Role role) const { return gantry::is_empty(*tensors[role]); }
  void* data(Role role) const { return address_of(*tensors[role]); }
  const gantry_tensor& result(const Direction& direction) const {
    return *tensors[direction.arguments[2]];
  }
};

// Reads (mode, layout, algorithm, pads, strides, dilations, ...) and the tensors that begin at `first`,
// of which there is one more before the last if there is a bias, a type and the number of groups.
Result<TensorConvolution> read_convolution(const Call& call, const Direction& direction,
                                           std::size_t rank, std::size_t first, bool has_bias) {
  const std::array<std::size_t, 3> at{first, first + 1, first + (has_bias ? 3 : 2)};
  GANTRY_CHECK(call.count_is(at[2] + 3));
  TensorConvolution read{};
  Convolution& what = read.what;
  what.rank = rank;
  GANTRY_TRY(what.mode, read_number(call, 0, cudnn_convolution, cudnn_cross_correlation));
  GANTRY_CHECK(read_layout(call, 1, what));
  GANTRY_TRY(read.algorithm, read_number(call, 2, any_algorithm, max_extent));
  GANTRY_CHECK(read_numbers(call, 3, std::span(what.pads).first(rank), 0));
  GANTRY_CHECK(read_numbers(call, 3 + rank, std::span(what.strides).first(rank), 1));
  GANTRY_CHECK(read_numbers(call, 3 + 2 * rank, std::span(what.dilations).first(rank), 1));
  GANTRY_TRY(what.groups, read_number(call, at[2] + 2, 1, max_extent));
  for (std::size_t i = 0; i < 3; ++i) {
    GANTRY_TRY(const gantry_tensor* const tensor, compact_cuda_at(call, at[i]));
    if (tensor->ndim != static_cast<std::int32_t>(rank) + 2)
      return call.wrong(at[i], concat("a tensor of rank ", rank + 2));
    const Role role = direction.arguments[i];
    for (std::size_t axis = 0; axis < rank + 2; ++axis) {
      if (tensor->shape[axis] < 0 || tensor->shape[axis] > max_extent)
        return call.wrong(at[i], concat("a tensor whose extents are at most ", max_extent));
      what.shapes[role][axis] = static_cast<int>(tensor->shape[axis]);
    }
    if (!is_empty(*tensor)) GANTRY_CHECK(tensor_bytes(shape_of(*tensor), tensor->dtype));
    if (i != 0)
      GANTRY_CHECK(check_one_device(call, *read.tensors[direction.arguments[0]], *tensor));
    read.tensors[role] = tensor;
  }
  std::array<std::size_t, 3> argument{};
  for (std::size_t i = 0; i < 3; ++i) argument[direction.arguments[i]] = at[i];
  GANTRY_TRY(what.type,
             convolution_type_of(call, argument[data_role], read.tensors[data_role]->dtype,
                                 argument[output_role], read.tensors[output_role]->dtype));
  if (!same_dtype(read.tensors[filter_role]->dtype, what.type->input)) {
    return call.wrong(argument[filter_role], concat("a tensor of ", dtype_text(what.type->input)));
  }
  GANTRY_CHECK(check_compute_type(call, at[2] + 1, *what.type));
  if (is_empty(read.result(direction))) return read;
  for (std::size_t i = 0; i < 2; ++i) {
    if (read.is_empty(direction.arguments[i])) return call.wrong(at[i], "a tensor with elements");
  }
  GANTRY_CHECK(check_shapes(call, what));
  return read;
}

// ---- with the library

// Sets the descriptors of a handle.
Status describe(const CudnnHandle& handle, const Convolution& what) {
  const Cudnn& api = handle.api;
  const ConvolutionType& type = *what.type;
  const std::array<void*, 3> descriptors{handle.x, handle.filter, handle.y};
  if (what.rank == 2) {
    GANTRY_CHECK(
        api.check("cudnnSetConvolution2dDescriptor",
                  api.convolution_set_2d(handle.convolution, what.pads[0], what.pads[1],
                                         what.strides[0], what.strides[1], what.dilations[0],
                                         what.dilations[1], what.mode, type.cudnn_compute)));
  } else {
    GANTRY_CHECK(
        api.check("cudnnSetConvolutionNdDescriptor",
                  api.convolution_set_nd(handle.convolution, static_cast<int>(what.rank),
                                         what.pads.data(), what.strides.data(),
                                         what.dilations.data(), what.mode, type.cudnn_compute)));
  }
  for (const Role role : {data_role, filter_role, output_role}) {
    const std::array<int, 5>& shape = what.shapes[role];
    const int element = role == output_role ? type.cudnn_output : type.cudnn_input;
    const int rank = static_cast<int>(what.rank) + 2;
    if (what.rank == 2) {
      const int n = shape[0], c = shape[what.channel_axis()], h = shape[what.first_spatial_axis()],
                w = shape[what.first_spatial_axis() + 1];
      GANTRY_CHECK(
          role == filter_role
              ? api.check("cudnnSetFilter4dDescriptor",
                          api.filter_set_4d(handle.filter, element, what.layout, n, c, h, w))
              : api.check("cudnnSetTensor4dDescriptor",
                          api.tensor_set_4d(descriptors[role], what.layout, element, n, c, h, w)));
    } else if (role == filter_role) {
      GANTRY_CHECK(
          api.check("cudnnSetFilterNdDescriptor",
                    api.filter_set_nd(handle.filter, element, what.layout, rank, shape.data())));
    } else {
      std::array<int, 5> strides{};
      int step = 1;
      for (std::size_t axis = what.rank + 2; axis-- > 0;) {
        strides[axis] = step;
        if (axis != 0) step *= shape[axis];
      }
      GANTRY_CHECK(api.check(
          "cudnnSetTensorNdDescriptor",
          api.tensor_set_nd(descriptors[role], element, rank, shape.data(), strides.data())));
    }
  }
  GANTRY_CHECK(api.check("cudnnSetConvolutionGroupCount",
                         api.convolution_set_groups(handle.convolution, what.groups)));
  return api.check("cudnnSetConvolutionMathType",
                   api.convolution_set_math(handle.convolution, type.math));
}

struct Descriptors {
  void *a, *b, *c;
};
Descriptors descriptors_of(const CudnnHandle& handle, const Direction& direction) {
  const std::array<void*, 3> all{handle.x, handle.filter, handle.y};
  return {all[direction.operands[0]], all[direction.operands[1]], all[direction.operands[2]]};
}

// An algorithm and the size of its workspace.
struct Plan {
  int algorithm;
  std::size_t bytes;
};

// Returns an algorithm of those that the library has for the descriptors: the fastest whose workspace is
// at most `max_bytes`, else the one with the smallest.
Result<Plan> choose(const CudnnHandle& handle, const Direction& direction, std::size_t max_bytes) {
  const CudnnConvolution& functions = handle.api.*direction.functions;
  const Descriptors on = descriptors_of(handle, direction);
  CudnnChoice choices[CudnnConvolution::max_choices]{};
  int count = 0;
  GANTRY_CHECK(handle.api.check(
      functions.choose_name, functions.choose(handle.handle, on.a, on.b, handle.convolution, on.c,
                                              CudnnConvolution::max_choices, &count, choices)));
  int status = 0;
  Plan smallest{any_algorithm, 0};
  for (const CudnnChoice& choice : std::span(choices).first(
           static_cast<std::size_t>(std::clamp(count, 0, CudnnConvolution::max_choices)))) {
    // The size in the choice is that of the choice's own kind of arithmetic.
    std::size_t bytes = 0;
    int refused = choice.status;
    if (refused == 0) {
      refused = functions.workspace(handle.handle, on.a, on.b, handle.convolution, on.c,
                                    choice.algorithm, &bytes);
    }
    if (refused != 0) {
      if (status == 0) status = refused;
      continue;
    }
    if (bytes <= max_bytes) return Plan{choice.algorithm, bytes};
    if (smallest.algorithm == any_algorithm || bytes < smallest.bytes)
      smallest = {choice.algorithm, bytes};
  }
  if (smallest.algorithm != any_algorithm) return smallest;
  if (status != 0) return handle.api.failure(functions.choose_name, status);
  return unsupported(functions.choose_name, ": no algorithm").with_reason("DRIVER_CALL");
}

// algorithm  [in]   of the call; any_algorithm: the library's choice
Result<Plan> plan_of(const Services& services, const Call& call, const Session& session,
                     const CudnnHandle& handle, const Direction& direction, int algorithm) {
  const CudnnConvolution& functions = handle.api.*direction.functions;
  const Descriptors on = descriptors_of(handle, direction);
  Plan plan{algorithm, 0};
  if (algorithm != any_algorithm) {
    GANTRY_CHECK(handle.api.check(functions.workspace_name,
                                  functions.workspace(handle.handle, on.a, on.b, handle.convolution,
                                                      on.c, algorithm, &plan.bytes)));
    if (!session.is_captured() || plan.bytes == 0) return plan;
  }
  // A graph would use the memory after it is freed.
  GANTRY_TRY(plan, choose(handle, direction, session.is_captured() ? 0 : services.workspace_bytes));
  if (!session.is_captured() || plan.bytes == 0) return plan;
  return unsupported(call.usage,
                     ": a captured run has no memory of the call, and each algorithm of ",
                     handle.api.name, " needs ", plan.bytes, " bytes or more")
      .with_reason("CAPTURE");
}

// Factors of the result, in the type that the library reads: double for float64 only.
struct Factors {
  explicit Factors(const ConvolutionType& type) : is_double(type.cudnn_input == cudnn_float64) {}
  const void* one() const { return is_double ? static_cast<const void*>(&one_double) : &one_float; }
  const void* zero() const {
    return is_double ? static_cast<const void*>(&zero_double) : &zero_float;
  }
  bool is_double;
  float one_float = 1, zero_float = 0;
  double one_double = 1, zero_double = 0;
};

// A bias, and what is applied to the sum.
struct Epilogue {
  const gantry_tensor* bias;
  int activation;
  double coefficient;
};

std::string_view name_of(const Call& call) { return call.usage.substr(0, call.usage.find('(')); }

// epilogue [in]   NULL: none
Status run_convolution(Services& services, const Call& call, const Direction& direction,
                       const TensorConvolution& job, const Epilogue* epilogue) {
  GANTRY_TRY(const Driver* const driver, services.driver());
  GANTRY_TRY(const Cudnn* const cudnn, services.cudnn());
  GANTRY_TRY(const Session session,
             Session::begin(*driver, services.host, *call.env, job.result(direction).device));
  const TracedWork traced(services.host, concat(name_of(call), " with ", cudnn->name), "library");
  GANTRY_TRY(const auto handle, services.cudnn_handles.take(*cudnn, *driver, session));
  GANTRY_CHECK(cudnn->check("cudnnSetStream", cudnn->set_stream(handle->handle, session.stream())));
  GANTRY_CHECK(describe(*handle, job.what));
  const Convolution& what = job.what;
  // Without an activation the library has no other.
  const bool is_identity = epilogue != nullptr && epilogue->activation == cudnn_identity;
  GANTRY_TRY(const Plan plan, plan_of(services, call, session, *handle, direction,
                                      is_identity ? cudnn_implicit_precomp_gemm : job.algorithm));
  Session::Memory workspace;
  if (plan.bytes != 0) {
    GANTRY_TRY(workspace, session.allocate(plan.bytes));
  }
  const Factors factors(*what.type);
  if (epilogue != nullptr) {
    GANTRY_CHECK(cudnn->check("cudnnSetTensor4dDescriptor",
                              cudnn->tensor_set_4d(handle->bias, cudnn_nchw, what.type->cudnn_bias,
                                                   1, what.extent(filter_role, 0), 1, 1)));
    GANTRY_CHECK(cudnn->check("cudnnSetActivationDescriptor",
                              cudnn->activation_set(handle->activation, epilogue->activation,
                                                    cudnn_keeps_no_nan, epilogue->coefficient)));
    // z, which has the factor 0, is the output.
    return cudnn->check(
        "cudnnConvolutionBiasActivationForward",
        cudnn->biased(handle->handle, factors.one(), handle->x, job.data(data_role), handle->filter,
                      job.data(filter_role), handle->convolution, plan.algorithm, workspace.data(),
                      plan.bytes, factors.zero(), handle->y, job.data(output_role), handle->bias,
                      address_of(*epilogue->bias), handle->activation, handle->y,
                      job.data(output_role)));
  }
  const CudnnConvolution& functions = cudnn->*direction.functions;
  const Descriptors on = descriptors_of(*handle, direction);
  return cudnn->check(
      functions.run_name,
      functions.run(handle->handle, factors.one(), on.a, job.data(direction.operands[0]), on.b,
                    job.data(direction.operands[1]), handle->convolution, plan.algorithm,
                    workspace.data(), plan.bytes, factors.zero(), on.c,
                    job.data(direction.operands[2])));
}

Status located(Status done, const TensorConvolution& job) {
  if (done.ok()) return done;
  return std::move(done).failure().at("in a convolution of ", tensor_text(*job.tensors[data_role]),
                                      " with ", tensor_text(*job.tensors[filter_role]));
}

template <const Direction& direction, std::size_t rank>
Result<Value> convolve(Services& services, const Call& call) {
  GANTRY_TRY(const TensorConvolution job,
             read_convolution(call, direction, rank, 3 + 3 * rank, false));
  if (is_empty(job.result(direction))) return Value();
  GANTRY_CHECK(located(run_convolution(services, call, direction, job, nullptr), job));
  return Value();
}

Result<Value> convolve_biased(Services& services, const Call& call) {
  constexpr int max_activation = 6;
  GANTRY_TRY(const TensorConvolution job, read_convolution(call, forward, 2, 11, true));
  Epilogue epilogue{};
  GANTRY_TRY(epilogue.activation, read_number(call, 9, 0, max_activation));
  GANTRY_TRY(epilogue.coefficient, call.real(10));
  GANTRY_TRY(epilogue.bias, compact_cuda_at(call, 13));
  if (is_empty(job.result(forward))) return Value();
  const ConvolutionType& type = *job.what.type;
  GANTRY_CHECK(check_one_device(call, *job.tensors[data_role], *epilogue.bias));
  GANTRY_TRY(const std::uint64_t bytes, tensor_bytes(shape_of(*epilogue.bias), type.bias));
  const auto channels = static_cast<std::uint64_t>(job.what.extent(filter_role, 0));
  if (!same_dtype(epilogue.bias->dtype, type.bias) ||
      bytes != channels * element_bytes(type.bias)) {
    return call.wrong(13, concat("a tensor of ", channels, " elements of ", dtype_text(type.bias)));
  }
  GANTRY_CHECK(located(run_convolution(services, call, forward, job, &epilogue), job));
  return Value();
}

// ---- searches

// Copies `count` numbers: a shape, or the address of int32 in host memory, as TVM's Python passes it.
Status read_array(const Call& call, std::size_t i, std::span<int> into, int min) {
  if (call.args[i].kind == GANTRY_POINTER && call.args[i].p != nullptr) {
    std::copy_n(static_cast<const std::int32_t*>(call.args[i].p), into.size(), into.begin());
  } else {
    const auto numbers = call.shape(i);
    if (!numbers.ok() || numbers->size() != into.size())
      return call.wrong(i, concat("a shape or an address of ", into.size(), " numbers"));
    for (std::size_t k = 0; k < into.size(); ++k)
      into[k] = static_cast<int>(std::clamp<std::int64_t>((*numbers)[k], -1, max_extent));
  }
  for (const int number : into) {
    if (number < min)
      return call.refuse(call.title(i), " has ", number, ", expected numbers from ", min);
  }
  return {};
}

// The GPU of the call, else the first.
gantry_device_id device_of(const Call& call) {
  constexpr std::int32_t cuda = dlpack_number("cuda");
  return call.env->device.type == cuda ? call.env->device : gantry_device_id{cuda, 0};
}

template <const Direction& direction>
Result<Value> find_algorithm(Services& services, const Call& call) {
  GANTRY_CHECK(call.count_is(11, 12));
  Convolution what{};
  GANTRY_TRY(const int rank, read_number(call, 1, 2, 3));
  what.rank = static_cast<std::size_t>(rank);
  GANTRY_CHECK(read_layout(call, 0, what));
  GANTRY_CHECK(read_array(call, 2, std::span(what.pads).first(what.rank), 0));
  GANTRY_CHECK(read_array(call, 3, std::span(what.strides).first(what.rank), 1));
  GANTRY_CHECK(read_array(call, 4, std::span(what.dilations).first(what.rank), 1));
  for (std::size_t i = 0; i < 3; ++i) {
    std::array<int, 5>& shape = what.shapes[direction.arguments[i]];
    GANTRY_CHECK(read_array(call, 5 + i, std::span(shape).first(what.rank + 2), 1));
  }
  GANTRY_TRY(const gantry_dtype input, call.dtype(8));
  GANTRY_TRY(what.type, convolution_type_of(call, 8, input, 8, input));
  GANTRY_CHECK(check_compute_type(call, 9, *what.type));
  GANTRY_TRY(what.groups, read_number(call, 10, 1, max_extent));
  GANTRY_CHECK(check_shapes(call, what));

  GANTRY_TRY(const Driver* const driver, services.driver());
  GANTRY_TRY(const Cudnn* const cudnn, services.cudnn());
  GANTRY_TRY(const Session session,
             Session::begin(*driver, services.host, *call.env, device_of(call)));
  if (session.is_captured()) {
    return unsupported(call.usage, ": a captured run cannot measure algorithms")
        .with_reason("CAPTURE");
  }
  const TracedWork traced(services.host, concat(name_of(call), " with ", cudnn->name), "library");
  GANTRY_TRY(const auto handle, services.cudnn_handles.take(*cudnn, *driver, session));
  GANTRY_CHECK(cudnn->check("cudnnSetStream", cudnn->set_stream(handle->handle, session.stream())));
  GANTRY_CHECK(describe(*handle, what));
  const CudnnConvolution& functions = cudnn->*direction.functions;
  const Descriptors on = descriptors_of(*handle, direction);
  CudnnChoice fastest{};
  int count = 0;
  GANTRY_CHECK(cudnn->check(
      functions.find_name,
      functions.find(handle->handle, on.a, on.b, handle->convolution, on.c, 1, &count, &fastest)));
  if (count < 1)
    return unsupported(functions.find_name, ": no algorithm").with_reason("DRIVER_CALL");
  GANTRY_CHECK(cudnn->check(functions.find_name, fastest.status));
  return Value::adopt(int_value(fastest.algorithm));
}

// exists(): a GPU and a library that can use it.
Result<Value> exists(Services& services, const Call& call) {
  GANTRY_CHECK(call.count_is(0));
  const auto opened = [&]() -> Status {
    GANTRY_TRY(const Driver* const driver, services.driver());
    GANTRY_TRY(const Cudnn* const cudnn, services.cudnn());
    GANTRY_TRY(const Session session,
               Session::begin(*driver, services.host, *call.env, device_of(call)));
    GANTRY_TRY(const auto handle, services.cudnn_handles.take(*cudnn, *driver, session));
    return {};
  };
  return Value::adopt(bool_value(opened().ok()));
}

constexpr FunctionRow convolution_rows[] = {
    {"tvm.contrib.cudnn.exists", "exists()", exists},
    {"tvm.contrib.cudnn.conv.forward_find_algo",
     "forward_find_algo(layout, rank, pads, strides, dilations, x, w, y, dtype, sum_dtype, groups"
     "[, verbose])",
     find_algorithm<forward>},
    {"tvm.contrib.cudnn.conv.backward_data_find_algo",
     "backward_data_find_algo(layout, rank, pads, strides, dilations, dy, w, dx, dtype, sum_dtype, "
     "groups[, verbose])",
     find_algorithm<backward_data>},
    {"tvm.contrib.cudnn.conv.backward_filter_find_algo",
     "backward_filter_find_algo(layout, rank, pads, strides, dilations, dy, x, dw, dtype, "
     "sum_dtype, groups[, verbose])",
     find_algorithm<backward_filter>},
    {"tvm.contrib.cudnn.conv2d.forward",
     "conv2d.forward(mode, layout, algorithm, pad_h, pad_w, stride_h, stride_w, dilation_h, "
     "dilation_w, x, w, y, sum_dtype, groups)",
     convolve<forward, 2>},
    {"tvm.contrib.cudnn.conv2d+bias+act.forward",
     "conv2d+bias+act.forward(mode, layout, algorithm, pad_h, pad_w, stride_h, stride_w, "
     "dilation_h, dilation_w, activation, coefficient, x, w, bias, y, sum_dtype, groups)",
     convolve_biased},
    {"tvm.contrib.cudnn.conv3d.forward",
     "conv3d.forward(mode, layout, algorithm, pad_d, pad_h, pad_w, stride_d, stride_h, stride_w, "
     "dilation_d, dilation_h, dilation_w, x, w, y, sum_dtype, groups)",
     convolve<forward, 3>},
    {"tvm.contrib.cudnn.conv2d.backward_data",
     "conv2d.backward_data(mode, layout, algorithm, pad_h, pad_w, stride_h, stride_w, dilation_h, "
     "dilation_w, dy, w, dx, sum_dtype, groups)",
     convolve<backward_data, 2>},
    {"tvm.contrib.cudnn.conv2d.backward_filter",
     "conv2d.backward_filter(mode, layout, algorithm, pad_h, pad_w, stride_h, stride_w, "
     "dilation_h, dilation_w, dy, x, dw, sum_dtype, groups)",
     convolve<backward_filter, 2>},
};

}  // namespace

std::span<const FunctionRow> convolution_functions() { return convolution_rows; }

}  // namespace gantry::cuda_libraries
