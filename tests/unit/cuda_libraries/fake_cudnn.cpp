// SPDX-License-Identifier: Apache-2.0
//
// cuDNN: checks descriptors, types and workspaces as the library does, and computes in the stream of its handle.
#include "tests/unit/cuda_libraries/fake_work.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace {

using namespace gantry::cuda_libraries::test;

// cudnnStatus_t of cuDNN 9
constexpr int bad_param = 2000, not_supported = 3000;

// cudnnDataType_t as cudaDataType
int cuda_type(int type) {
  constexpr int types[] = {float32, float64, float16, int8, int32};
  return type == 9 ? int{bfloat16} : types[type];
}

struct CudnnFakeHandle {
  int tag = 'H';
  void* stream = nullptr;
};
// Extents and strides are those of n, c, d, h and w; d is 1 for images.
using Axes = std::array<std::int64_t, 5>;
struct CudnnFakeTensor {
  int tag = 'T';
  int type = -1;
  Axes extents{}, strides{};
};
struct CudnnFakeFilter {
  int tag = 'F';
  int type = -1, layout = 0;
  Axes extents{}, strides{};
};
struct CudnnFakeActivation {
  int tag = 'A';
  int mode = -1;
};
struct CudnnFakeConvolution {
  int tag = 'C';
  // of d, h and w
  std::array<std::int64_t, 3> pads{0, 0, 0}, strides{1, 1, 1}, dilations{1, 1, 1};
  int mode = 1, type = 0, groups = 1, math = 0;
};

// A descriptor of the right kind, else NULL and a fault.
template <class T>
T* known(void* object) {
  T* const found = static_cast<T*>(object);
  if (found != nullptr && found->tag == T().tag) return found;
  fault("a descriptor of another kind");
  return nullptr;
}

Axes packed(const Axes& extents, bool is_last) {
  Axes strides{};
  const std::array<std::size_t, 5> order = is_last ? std::array<std::size_t, 5>{0, 2, 3, 4, 1}
                                                   : std::array<std::size_t, 5>{0, 1, 2, 3, 4};
  std::int64_t step = 1;
  for (std::size_t i = 5; i-- > 0;) {
    strides[order[i]] = step;
    step *= extents[order[i]];
  }
  return strides;
}
std::int64_t count_of(const Axes& extents) {
  std::int64_t count = 1;
  for (const std::int64_t extent : extents) count *= extent;
  return count;
}

struct ConvolutionOperands {
  CudnnFakeConvolution what;
  CudnnFakeTensor x, y;
  CudnnFakeFilter w;
};

// Calls visit(x, w, y) with the indices of each product of the convolution.
template <class Visit>
void each_product(const ConvolutionOperands& of, const Visit& visit) {
  const Axes &y = of.y.extents, &w = of.w.extents, &x = of.x.extents;
  const std::int64_t group_outputs = y[1] / of.what.groups;
  for (Axes at{}; at[0] < y[0]; ++at[0])
    for (at[1] = 0; at[1] < y[1]; ++at[1])
      for (at[2] = 0; at[2] < y[2]; ++at[2])
        for (at[3] = 0; at[3] < y[3]; ++at[3])
          for (at[4] = 0; at[4] < y[4]; ++at[4])
            for (std::int64_t i = 0; i < count_of(w) / w[0]; ++i) {
              const std::array<std::int64_t, 4> tap{
                  i / (w[2] * w[3] * w[4]), i / (w[3] * w[4]) % w[2], i / w[4] % w[3], i % w[4]};
              std::int64_t x_index = at[0] * of.x.strides[0] +
                                     (at[1] / group_outputs * w[1] + tap[0]) * of.x.strides[1];
              std::int64_t w_index = at[1] * of.w.strides[0] + tap[0] * of.w.strides[1];
              bool is_inside = true;
              for (std::size_t k = 0; k < 3; ++k) {
                const std::int64_t position = at[k + 2] * of.what.strides[k] - of.what.pads[k] +
                                              tap[k + 1] * of.what.dilations[k];
                is_inside = is_inside && position >= 0 && position < x[k + 2];
                x_index += position * of.x.strides[k + 2];
                const std::int64_t from =
                    of.what.mode == 1 ? tap[k + 1] : w[k + 2] - 1 - tap[k + 1];
                w_index += from * of.w.strides[k + 2];
              }
              std::int64_t y_index = 0;
              for (std::size_t k = 0; k < 5; ++k) y_index += at[k] * of.y.strides[k];
              if (is_inside) visit(x_index, w_index, y_index);
            }
}

// The status of descriptors that are not those of one convolution, or of types that it has not.
int check(const ConvolutionOperands& of) {
  const CudnnFakeConvolution& what = of.what;
  const Axes &x = of.x.extents, &w = of.w.extents, &y = of.y.extents;
  if (x[0] != y[0] || w[0] != y[1] || x[1] != w[1] * what.groups || w[0] % what.groups != 0)
    return bad_param;
  for (std::size_t k = 0; k < 3; ++k) {
    const std::int64_t room = x[k + 2] + 2 * what.pads[k] - (w[k + 2] - 1) * what.dilations[k] - 1;
    if (room < 0 || y[k + 2] != room / what.strides[k] + 1) return bad_param;
  }
  if (of.x.type != of.w.type) return not_supported;
  // cuDNN's DOUBLE_CONFIG, INT8_CONFIG and INT8_EXT_CONFIG, and those with sums of float32
  const bool is_known = of.x.type == 1   ? what.type == 1 && of.y.type == 1
                        : of.x.type == 3 ? what.type == 4 && (of.y.type == 3 || of.y.type == 0)
                                         : what.type == 0 && of.y.type == of.x.type;
  return is_known ? 0 : not_supported;
}

int workspace_of(int number, std::size_t* bytes) {
  for (const FakeAlgorithm& each : fake_libraries().algorithms) {
    if (each.number != number) continue;
    *bytes = each.workspace_bytes;
    return each.status;
  }
  return not_supported;
}

// An algorithm with its time and memory, as cuDNN has them in its headers.
struct Choice {
  int number, status;
  float milliseconds;
  std::size_t bytes;
  int determinism, math, reserved[3];
};
int list(int max, int* count, void* choices) {
  *count = 0;
  for (const FakeAlgorithm& each : fake_libraries().algorithms) {
    if (*count == max) break;
    // Its memory is that of other arithmetic.
    static_cast<Choice*>(choices)[(*count)++] = {each.number, each.status, 1, 77, 0, 0, {}};
  }
  return 0;
}

double cudnn_factor(const void* value, int type) {
  return type == 1 ? *static_cast<const double*>(value)
                   : static_cast<double>(*static_cast<const float*>(value));
}

// Checks a call and records it; other than 0: what it returns.
int begin(const char* function, CudnnFakeHandle& handle, const ConvolutionOperands& of,
          int algorithm, const void* workspace, std::size_t bytes) {
  if (const int wrong = check(of); wrong != 0) return wrong;
  std::size_t needed = 0;
  if (const int status = workspace_of(algorithm, &needed); status != 0) return status;
  if (bytes < needed || (needed != 0 && workspace == nullptr)) return bad_param;
  if (reinterpret_cast<std::uintptr_t>(workspace) % 256 != 0) fault("the workspace is not aligned");
  fake_libraries().cudnn_calls.push_back({function, algorithm, of.what.mode, of.what.groups,
                                          of.what.math, of.what.type, of.x.type, of.y.type,
                                          handle.stream, workspace, bytes});
  return 0;
}

// The operands, of which the k-th is the one that is not a tensor.
enum Kind { forward, backward_data, backward_filter };
bool operands(Kind kind, void* a, void* b, void* c, void* convolution, ConvolutionOperands& into) {
  void* const x = kind == backward_data ? c : a;
  void* const w = kind == forward ? b : kind == backward_data ? a : c;
  void* const y = kind == forward ? c : b;
  const auto* const what = known<CudnnFakeConvolution>(convolution);
  const auto* const data = known<CudnnFakeTensor>(x);
  const auto* const filter = known<CudnnFakeFilter>(w);
  const auto* const output = known<CudnnFakeTensor>(y);
  if (what == nullptr || data == nullptr || filter == nullptr || output == nullptr) return false;
  into = {*what, *data, *output, *filter};
  return true;
}

// result = alpha * sum + beta * result
void add_sums(void* stream, void* to, int type, const Axes& extents, double alpha, double beta,
              const std::function<void(std::vector<double>&)>& sum,
              const std::function<double(double, std::int64_t)>& finish) {
  const std::int64_t count = count_of(extents);
  add(stream, [=] {
    std::vector<double> sums(static_cast<std::size_t>(count));
    sum(sums);
    for (std::int64_t i = 0; i < count; ++i) {
      const double before = beta == 0 ? 0 : beta * load(to, type, i);
      store(to, type, i, finish(alpha * sums[static_cast<std::size_t>(i)] + before, i));
    }
  });
}
double unchanged(double value, std::int64_t) { return value; }

int convolve(Kind kind, const char* function, void* given, const void* alpha, void* a_tensor,
             const void* a, void* b_tensor, const void* b, void* convolution, int algorithm,
             void* workspace, std::size_t bytes, const void* beta, void* c_tensor, void* c) {
  auto* const handle = known<CudnnFakeHandle>(given);
  ConvolutionOperands of;
  if (handle == nullptr || !operands(kind, a_tensor, b_tensor, c_tensor, convolution, of))
    return bad_param;
  if (const int status = begin(function, *handle, of, algorithm, workspace, bytes); status != 0)
    return status;
  const int input = cuda_type(of.x.type);
  const auto at = [](std::int64_t i) { return static_cast<std::size_t>(i); };
  const int type = kind == forward ? cuda_type(of.y.type) : input;
  const Axes& extents = kind == forward         ? of.y.extents
                        : kind == backward_data ? of.x.extents
                                                : of.w.extents;
  add_sums(
      handle->stream, c, type, extents, cudnn_factor(alpha, of.x.type),
      cudnn_factor(beta, of.x.type),
      [=](std::vector<double>& sums) {
        each_product(of, [&](std::int64_t x, std::int64_t w, std::int64_t y) {
          if (kind == forward) sums[at(y)] += load(a, input, x) * load(b, input, w);
          if (kind == backward_data) sums[at(x)] += load(a, input, w) * load(b, input, y);
          if (kind == backward_filter) sums[at(w)] += load(a, input, x) * load(b, input, y);
        });
      },
      unchanged);
  return 0;
}

int search(Kind kind, void* handle, void* a, void* b, void* convolution, void* c, int max,
           int* count, void* choices) {
  ConvolutionOperands of;
  if (known<CudnnFakeHandle>(handle) == nullptr || !operands(kind, a, b, c, convolution, of))
    return bad_param;
  if (const int wrong = check(of); wrong != 0) return wrong;
  return list(max, count, choices);
}

int size_of(Kind kind, void* handle, void* a, void* b, void* convolution, void* c, int algorithm,
            std::size_t* bytes) {
  ConvolutionOperands of;
  if (known<CudnnFakeHandle>(handle) == nullptr || !operands(kind, a, b, c, convolution, of))
    return bad_param;
  if (const int wrong = check(of); wrong != 0) return wrong;
  return workspace_of(algorithm, bytes);
}

}  // namespace

extern "C" {

const char* cudnnGetErrorString(int status) {
  switch (status) {
    case 2:
      return "CUDNN_STATUS_ALLOC_FAILED";
    case 9:
    case 3000:
      return "CUDNN_STATUS_NOT_SUPPORTED";
    case 1001:
      return "CUDNN_STATUS_NOT_INITIALIZED";
    case 2000:
      return "CUDNN_STATUS_BAD_PARAM";
    case 4004:
      return "CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED";
    case 5000:
      return "CUDNN_STATUS_EXECUTION_FAILED";
    default:
      return "CUDNN_UNKNOWN_STATUS";
  }
}
int cudnnCreate(void** handle) {
  ENTER(cudnnCreate);
  return made(handle, new CudnnFakeHandle);
}
int cudnnDestroy(void* handle) {
  enter("cudnnDestroy");
  return freed<CudnnFakeHandle>(handle);
}
int cudnnSetStream(void* handle, void* stream) {
  ENTER(cudnnSetStream);
  known<CudnnFakeHandle>(handle)->stream = stream;
  return 0;
}

int cudnnCreateTensorDescriptor(void** tensor) {
  ENTER(cudnnCreateTensorDescriptor);
  return made(tensor, new CudnnFakeTensor);
}
int cudnnDestroyTensorDescriptor(void* tensor) { return freed<CudnnFakeTensor>(tensor); }
int cudnnSetTensor4dDescriptor(void* tensor, int layout, int type, int n, int c, int h, int w) {
  ENTER(cudnnSetTensor4dDescriptor);
  if (layout < 0 || layout > 1 || std::min({n, c, h, w}) < 1) return bad_param;
  auto* const into = known<CudnnFakeTensor>(tensor);
  into->type = type;
  into->extents = {n, c, 1, h, w};
  into->strides = packed(into->extents, layout == 1);
  return 0;
}
int cudnnSetTensorNdDescriptor(void* tensor, int type, int rank, const int* extents,
                               const int* strides) {
  ENTER(cudnnSetTensorNdDescriptor);
  if (rank != 5) return not_supported;
  auto* const into = known<CudnnFakeTensor>(tensor);
  into->type = type;
  std::copy_n(extents, 5, into->extents.begin());
  std::copy_n(strides, 5, into->strides.begin());
  return 0;
}
int cudnnCreateFilterDescriptor(void** filter) {
  ENTER(cudnnCreateFilterDescriptor);
  return made(filter, new CudnnFakeFilter);
}
int cudnnDestroyFilterDescriptor(void* filter) { return freed<CudnnFakeFilter>(filter); }
int cudnnSetFilter4dDescriptor(void* filter, int type, int layout, int k, int c, int h, int w) {
  ENTER(cudnnSetFilter4dDescriptor);
  if (layout < 0 || layout > 1 || std::min({k, c, h, w}) < 1) return bad_param;
  auto* const into = known<CudnnFakeFilter>(filter);
  into->type = type;
  into->layout = layout;
  into->extents = {k, c, 1, h, w};
  into->strides = packed(into->extents, layout == 1);
  return 0;
}
int cudnnSetFilterNdDescriptor(void* filter, int type, int layout, int rank, const int* extents) {
  ENTER(cudnnSetFilterNdDescriptor);
  if (rank != 5 || layout != 0) return not_supported;
  auto* const into = known<CudnnFakeFilter>(filter);
  into->type = type;
  std::copy_n(extents, 5, into->extents.begin());
  into->strides = packed(into->extents, false);
  return 0;
}
int cudnnCreateActivationDescriptor(void** activation) {
  ENTER(cudnnCreateActivationDescriptor);
  return made(activation, new CudnnFakeActivation);
}
int cudnnDestroyActivationDescriptor(void* activation) {
  return freed<CudnnFakeActivation>(activation);
}
int cudnnSetActivationDescriptor(void* activation, int mode, int nans, double) {
  ENTER(cudnnSetActivationDescriptor);
  if (nans != 0) return bad_param;
  known<CudnnFakeActivation>(activation)->mode = mode;
  return 0;
}
int cudnnCreateConvolutionDescriptor(void** convolution) {
  ENTER(cudnnCreateConvolutionDescriptor);
  return made(convolution, new CudnnFakeConvolution);
}
int cudnnDestroyConvolutionDescriptor(void* convolution) {
  return freed<CudnnFakeConvolution>(convolution);
}
// Also forgets the number of groups and the kind of arithmetic, which the library may.
int cudnnSetConvolution2dDescriptor(void* convolution, int pad_h, int pad_w, int stride_h,
                                    int stride_w, int dilation_h, int dilation_w, int mode,
                                    int type) {
  ENTER(cudnnSetConvolution2dDescriptor);
  auto* const into = known<CudnnFakeConvolution>(convolution);
  *into = {};
  into->pads = {0, pad_h, pad_w};
  into->strides = {1, stride_h, stride_w};
  into->dilations = {1, dilation_h, dilation_w};
  into->mode = mode;
  into->type = type;
  return 0;
}
int cudnnSetConvolutionNdDescriptor(void* convolution, int rank, const int* pads,
                                    const int* strides, const int* dilations, int mode, int type) {
  ENTER(cudnnSetConvolutionNdDescriptor);
  if (rank != 3) return not_supported;
  auto* const into = known<CudnnFakeConvolution>(convolution);
  *into = {};
  std::copy_n(pads, 3, into->pads.begin());
  std::copy_n(strides, 3, into->strides.begin());
  std::copy_n(dilations, 3, into->dilations.begin());
  into->mode = mode;
  into->type = type;
  return 0;
}
int cudnnSetConvolutionGroupCount(void* convolution, int groups) {
  ENTER(cudnnSetConvolutionGroupCount);
  known<CudnnFakeConvolution>(convolution)->groups = groups;
  return 0;
}
int cudnnSetConvolutionMathType(void* convolution, int math) {
  ENTER(cudnnSetConvolutionMathType);
  known<CudnnFakeConvolution>(convolution)->math = math;
  return 0;
}

#define CONVOLUTION(kind, workspace_name, choose_name, find_name, run_name)                        \
  int workspace_name(void* handle, void* a, void* b, void* convolution, void* c, int algorithm,    \
                     std::size_t* bytes) {                                                         \
    ENTER(workspace_name);                                                                         \
    return size_of(kind, handle, a, b, convolution, c, algorithm, bytes);                          \
  }                                                                                                \
  int choose_name(void* handle, void* a, void* b, void* convolution, void* c, int max, int* count, \
                  void* choices) {                                                                 \
    ENTER(choose_name);                                                                            \
    return search(kind, handle, a, b, convolution, c, max, count, choices);                        \
  }                                                                                                \
  int find_name(void* handle, void* a, void* b, void* convolution, void* c, int max, int* count,   \
                void* choices) {                                                                   \
    ENTER(find_name);                                                                              \
    return search(kind, handle, a, b, convolution, c, max, count, choices);                        \
  }                                                                                                \
  int run_name(void* handle, const void* alpha, void* a_tensor, const void* a, void* b_tensor,     \
               const void* b, void* convolution, int algorithm, void* workspace,                   \
               std::size_t bytes, const void* beta, void* c_tensor, void* c) {                     \
    ENTER(run_name);                                                                               \
    return convolve(kind, #run_name, handle, alpha, a_tensor, a, b_tensor, b, convolution,         \
                    algorithm, workspace, bytes, beta, c_tensor, c);                               \
  }
CONVOLUTION(forward, cudnnGetConvolutionForwardWorkspaceSize,
            cudnnGetConvolutionForwardAlgorithm_v7, cudnnFindConvolutionForwardAlgorithm,
            cudnnConvolutionForward)
CONVOLUTION(backward_data, cudnnGetConvolutionBackwardDataWorkspaceSize,
            cudnnGetConvolutionBackwardDataAlgorithm_v7, cudnnFindConvolutionBackwardDataAlgorithm,
            cudnnConvolutionBackwardData)
CONVOLUTION(backward_filter, cudnnGetConvolutionBackwardFilterWorkspaceSize,
            cudnnGetConvolutionBackwardFilterAlgorithm_v7,
            cudnnFindConvolutionBackwardFilterAlgorithm, cudnnConvolutionBackwardFilter)

// Has no activation but these, and the second with one algorithm only.
int cudnnConvolutionBiasActivationForward(void* given, const void* alpha, void* x_tensor,
                                          const void* x, void* filter, const void* w,
                                          void* convolution, int algorithm, void* workspace,
                                          std::size_t bytes, const void* beta, void* z_tensor,
                                          const void* z, void* bias_tensor, const void* bias,
                                          void* activation, void* y_tensor, void* y) {
  ENTER(cudnnConvolutionBiasActivationForward);
  constexpr int relu = 1, identity = 5;
  auto* const handle = known<CudnnFakeHandle>(given);
  const auto* const added = known<CudnnFakeTensor>(bias_tensor);
  const auto* const applied = known<CudnnFakeActivation>(activation);
  ConvolutionOperands of;
  if (handle == nullptr || added == nullptr || applied == nullptr || z != y ||
      z_tensor != y_tensor || !operands(forward, x_tensor, filter, y_tensor, convolution, of))
    return bad_param;
  if (added->extents != Axes{1, of.y.extents[1], 1, 1, 1} ||
      added->type != (of.x.type == 3 ? 0 : of.y.type))
    return bad_param;
  if (applied->mode != relu && (applied->mode != identity || algorithm != 1)) return not_supported;
  if (const int status =
          begin("cudnnConvolutionBiasActivationForward", *handle, of, algorithm, workspace, bytes);
      status != 0)
    return status;
  const int input = cuda_type(of.x.type), bias_type = cuda_type(added->type);
  const bool is_relu = applied->mode == relu;
  add_sums(
      handle->stream, y, cuda_type(of.y.type), of.y.extents, cudnn_factor(alpha, of.x.type),
      cudnn_factor(beta, of.x.type),
      [=](std::vector<double>& sums) {
        each_product(of, [&](std::int64_t from, std::int64_t tap, std::int64_t to) {
          sums[static_cast<std::size_t>(to)] += load(x, input, from) * load(w, input, tap);
        });
      },
      [=](double value, std::int64_t i) {
        const std::int64_t channel = i / of.y.strides[1] % of.y.extents[1];
        const double sum = value + load(bias, bias_type, channel);
        return is_relu ? std::max(sum, 0.0) : sum;
      });
  return 0;
}

int cudnnSoftmaxForward(void* given, int algorithm, int mode, const void* alpha, void* x_tensor,
                        const void* x, const void* beta, void* y_tensor, void* y) {
  ENTER(cudnnSoftmaxForward);
  auto* const handle = known<CudnnFakeHandle>(given);
  const auto* const tensor = known<CudnnFakeTensor>(x_tensor);
  if (handle == nullptr || tensor == nullptr || x_tensor != y_tensor ||
      cudnn_factor(alpha, tensor->type) != 1 || cudnn_factor(beta, tensor->type) != 0)
    return bad_param;
  fake_libraries().cudnn_calls.push_back({"cudnnSoftmaxForward", algorithm, mode, 1, 0, 0,
                                          tensor->type, tensor->type, handle->stream, nullptr, 0});
  const int type = cuda_type(tensor->type);
  const Axes extents = tensor->extents;
  // Softmax is over c of each n, h and w, or over c, h and w of each n.
  const std::int64_t inner = extents[2] * extents[3] * extents[4];
  const std::int64_t step = mode == 1 ? inner : 1;
  const std::int64_t length = mode == 1 ? extents[1] : extents[1] * inner;
  add(handle->stream, [=] {
    for (std::int64_t first = 0; first < extents[0] * step; ++first) {
      const std::int64_t begin = first / step * extents[1] * inner + first % step;
      double max = -std::numeric_limits<double>::infinity(), sum = 0;
      for (std::int64_t i = 0; i < length; ++i)
        max = std::max(max, load(x, type, begin + i * step));
      for (std::int64_t i = 0; i < length; ++i)
        sum += std::exp(load(x, type, begin + i * step) - max);
      for (std::int64_t i = 0; i < length; ++i) {
        const double shifted = load(x, type, begin + i * step) - max;
        store(y, type, begin + i * step,
              algorithm == 2 ? shifted - std::log(sum) : std::exp(shifted) / sum);
      }
    }
  });
  return 0;
}
}
