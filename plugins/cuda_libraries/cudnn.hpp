// SPDX-License-Identifier: Apache-2.0
//
// What is used of cuDNN, declared here with the numbers of its headers since cuDNN 8.
//
// source   NVIDIA's documentation of cuDNN 8 and 9
#pragma once

#include "driver.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace gantry::cuda_libraries {

// cudnnDataType_t
enum : int {
  cudnn_float32 = 0,
  cudnn_float64 = 1,
  cudnn_float16 = 2,
  cudnn_int8 = 3,
  cudnn_int32 = 4,
  cudnn_bfloat16 = 9
};
// cudnnTensorFormat_t
enum : int { cudnn_nchw = 0, cudnn_nhwc = 1 };
// cudnnConvolutionMode_t
enum : int { cudnn_convolution = 0, cudnn_cross_correlation = 1 };
// cudnnMathType_t
enum : int { cudnn_default_math = 0, cudnn_tensor_core_math = 1, cudnn_fma_math = 3 };
// cudnnActivationMode_t
enum : int { cudnn_relu = 1, cudnn_identity = 5 };
// cudnnNanPropagation_t
enum : int { cudnn_keeps_no_nan = 0 };
// cudnnSoftmaxAlgorithm_t and cudnnSoftmaxMode_t
enum : int { cudnn_softmax_accurate = 1, cudnn_softmax_log = 2 };
enum : int { cudnn_softmax_instance = 0, cudnn_softmax_channel = 1 };
// cudnnConvolutionFwdAlgo_t: the only one that has no activation after the bias
enum : int { cudnn_implicit_precomp_gemm = 1 };

// cudnnConvolutionFwdAlgoPerf_t, and the same of the gradients
struct CudnnChoice {
  int algorithm, status;
  float milliseconds;
  std::size_t workspace_bytes;
  int determinism, math;
  int reserved[3];
};
static_assert(sizeof(CudnnChoice) == 48);

// The functions for convolutions, or for one of their gradients: C is computed of A and B.
struct CudnnConvolution {
  // at least as many algorithms as any of the three has
  static constexpr int max_choices = 8;

  int (*workspace)(void* handle, void* a, void* b, void* convolution, void* c, int algorithm,
                   std::size_t* bytes) = nullptr;
  // Estimates which algorithms are fast.
  int (*choose)(void* handle, void* a, void* b, void* convolution, void* c, int max_count,
                int* count, CudnnChoice* choices) = nullptr;
  // Measures them, with memory of the library.
  int (*find)(void* handle, void* a, void* b, void* convolution, void* c, int max_count, int* count,
              CudnnChoice* choices) = nullptr;
  int (*run)(void* handle, const void* alpha, void* a_tensor, const void* a, void* b_tensor,
             const void* b, void* convolution, int algorithm, void* workspace, std::size_t bytes,
             const void* beta, void* c_tensor, void* c) = nullptr;
  // "cudnnGetConvolutionForwardWorkspaceSize"
  const char *workspace_name, *choose_name, *find_name, *run_name;
};

struct Cudnn {
  static Result<std::unique_ptr<const Cudnn>> open(const std::string& library);

  // Returns the error of a failed function, with the library's name for the status.
  Failure failure(std::string_view function, int status) const;
  // returns  failure(), if the status is not that of success
  Status check(std::string_view function, int status) const;

  int (*create)(void** handle) = nullptr;
  int (*destroy)(void* handle) = nullptr;
  int (*set_stream)(void* handle, void* stream) = nullptr;
  const char* (*error_name)(int status) = nullptr;

  int (*tensor_create)(void** tensor) = nullptr;
  int (*tensor_destroy)(void* tensor) = nullptr;
  // Extents are n, c, h and w in each layout.
  int (*tensor_set_4d)(void* tensor, int layout, int type, int n, int c, int h, int w) = nullptr;
  int (*tensor_set_nd)(void* tensor, int type, int rank, const int* extents,
                       const int* strides) = nullptr;
  int (*filter_create)(void** filter) = nullptr;
  int (*filter_destroy)(void* filter) = nullptr;
  int (*filter_set_4d)(void* filter, int type, int layout, int k, int c, int h, int w) = nullptr;
  int (*filter_set_nd)(void* filter, int type, int layout, int rank, const int* extents) = nullptr;
  int (*activation_create)(void** activation) = nullptr;
  int (*activation_destroy)(void* activation) = nullptr;
  int (*activation_set)(void* activation, int mode, int nans, double coefficient) = nullptr;
  int (*convolution_create)(void** convolution) = nullptr;
  int (*convolution_destroy)(void* convolution) = nullptr;
  int (*convolution_set_2d)(void* convolution, int pad_h, int pad_w, int stride_h, int stride_w,
                            int dilation_h, int dilation_w, int mode, int type) = nullptr;
  int (*convolution_set_nd)(void* convolution, int rank, const int* pads, const int* strides,
                            const int* dilations, int mode, int type) = nullptr;
  int (*convolution_set_groups)(void* convolution, int groups) = nullptr;
  int (*convolution_set_math)(void* convolution, int math) = nullptr;

  // C: the output; the gradient of the data of the filter and the output's; that of the filter
  CudnnConvolution forward, backward_data, backward_filter;
  // y = activation(alpha x * w + beta z + bias)
  int (*biased)(void* handle, const void* alpha, void* x_tensor, const void* x, void* filter,
                const void* w, void* convolution, int algorithm, void* workspace, std::size_t bytes,
                const void* beta, void* z_tensor, const void* z, void* bias_tensor,
                const void* bias, void* activation, void* y_tensor, void* y) = nullptr;
  int (*softmax)(void* handle, int algorithm, int mode, const void* alpha, void* x_tensor,
                 const void* x, const void* beta, void* y_tensor, void* y) = nullptr;
  // "libcudnn.so.9"
  std::string name;
};

// A handle, and the descriptors that a call with it sets.
struct CudnnHandle {
  // Its work is in the stream that it is given, in memory of the call.
  static constexpr bool is_of_stream = false;

  static Result<std::unique_ptr<CudnnHandle>> create(const Cudnn& api, const Driver& driver);
  explicit CudnnHandle(const Cudnn& given) : api(given) {}
  CudnnHandle(const CudnnHandle&) = delete;
  CudnnHandle& operator=(const CudnnHandle&) = delete;
  ~CudnnHandle();

  const Cudnn& api;
  void* handle = nullptr;
  void *x = nullptr, *filter = nullptr, *y = nullptr, *bias = nullptr;
  void *convolution = nullptr, *activation = nullptr;
};

}  // namespace gantry::cuda_libraries
