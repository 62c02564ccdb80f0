// SPDX-License-Identifier: Apache-2.0
//
// What the plugin declares of NVIDIA's libraries, compared with their headers where those are installed.
#include "plugins/cuda_libraries/cublas.hpp"
#include "plugins/cuda_libraries/cudnn.hpp"
#include "plugins/cuda_libraries/curand.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <type_traits>

#if __has_include(<cublas_v2.h>) && __has_include(<cublasLt.h>) && __has_include(<curand.h>)
#define GANTRY_HAS_CUBLAS_HEADERS 1
#include <cublasLt.h>
#include <cublas_v2.h>
#include <curand.h>
#endif
#if __has_include(<cudnn.h>) && __has_include(<cuda_runtime_api.h>)
#define GANTRY_HAS_CUDNN_HEADERS 1
// cuDNN 9 has newer functions for convolutions, with graphs of operations, but has these too.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#include <cudnn.h>
#endif

namespace gantry::cuda_libraries::test {
namespace {

// Pointers, enumerations and numbers that are passed in the same way.
template <class Own, class Theirs>
constexpr bool is_same_parameter() {
  if constexpr (std::is_pointer_v<Theirs>) return std::is_pointer_v<Own>;
  if constexpr (std::is_enum_v<Theirs>) return std::is_same_v<Own, int>;
  return std::is_same_v<Own, Theirs>;
}
template <class Own, class Theirs>
struct SameCall;
template <class OwnResult, class... Own, class TheirResult, class... Theirs>
struct SameCall<OwnResult (*)(Own...), TheirResult (*)(Theirs...)> {
  static constexpr bool value = [] {
    if constexpr (sizeof...(Own) != sizeof...(Theirs)) {
      return false;
    } else {
      return is_same_parameter<OwnResult, TheirResult>() &&
             (is_same_parameter<Own, std::remove_cv_t<Theirs>>() && ...);
    }
  }();
};
#define EXPECT_SAME_CALL(own, theirs) \
  EXPECT_TRUE((SameCall<decltype(own), decltype(&theirs)>::value))

#ifdef GANTRY_HAS_CUBLAS_HEADERS
TEST(CudaLibraryHeaders, HaveTheDeclaredFunctions) {
  EXPECT_SAME_CALL(Cublas::create, cublasCreate_v2);
  EXPECT_SAME_CALL(Cublas::destroy, cublasDestroy_v2);
  EXPECT_SAME_CALL(Cublas::set_stream, cublasSetStream_v2);
  EXPECT_SAME_CALL(Cublas::set_workspace, cublasSetWorkspace_v2);
  using Gemm = cublasStatus_t (*)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int,
                                  int, const void*, const void*, cudaDataType, int, const void*,
                                  cudaDataType, int, const void*, void*, cudaDataType, int,
                                  cublasComputeType_t, cublasGemmAlgo_t);
  const Gemm gemm = cublasGemmEx;
  EXPECT_TRUE((SameCall<decltype(Cublas::gemm), std::remove_const_t<decltype(gemm)>>::value));
  using Batched = cublasStatus_t (*)(
      cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int, const void*, const void*,
      cudaDataType, int, long long, const void*, cudaDataType, int, long long, const void*, void*,
      cudaDataType, int, long long, int, cublasComputeType_t, cublasGemmAlgo_t);
  const Batched batched = cublasGemmStridedBatchedEx;
  EXPECT_TRUE(
      (SameCall<decltype(Cublas::gemm_batched), std::remove_const_t<decltype(batched)>>::value));
  EXPECT_SAME_CALL(CublasLt::create, cublasLtCreate);
  EXPECT_SAME_CALL(CublasLt::destroy, cublasLtDestroy);
  EXPECT_SAME_CALL(CublasLt::matmul_create, cublasLtMatmulDescCreate);
  EXPECT_SAME_CALL(CublasLt::matmul_destroy, cublasLtMatmulDescDestroy);
  EXPECT_SAME_CALL(CublasLt::matmul_set, cublasLtMatmulDescSetAttribute);
  EXPECT_SAME_CALL(CublasLt::layout_create, cublasLtMatrixLayoutCreate);
  EXPECT_SAME_CALL(CublasLt::layout_destroy, cublasLtMatrixLayoutDestroy);
  EXPECT_SAME_CALL(CublasLt::layout_set, cublasLtMatrixLayoutSetAttribute);
  EXPECT_SAME_CALL(CublasLt::preference_create, cublasLtMatmulPreferenceCreate);
  EXPECT_SAME_CALL(CublasLt::preference_destroy, cublasLtMatmulPreferenceDestroy);
  EXPECT_SAME_CALL(CublasLt::preference_set, cublasLtMatmulPreferenceSetAttribute);
  EXPECT_SAME_CALL(CublasLt::choose, cublasLtMatmulAlgoGetHeuristic);
  EXPECT_SAME_CALL(CublasLt::matmul, cublasLtMatmul);
  EXPECT_SAME_CALL(Curand::create, curandCreateGenerator);
  EXPECT_SAME_CALL(Curand::destroy, curandDestroyGenerator);
  EXPECT_SAME_CALL(Curand::set_seed, curandSetPseudoRandomGeneratorSeed);
  EXPECT_SAME_CALL(Curand::set_stream, curandSetStream);
  EXPECT_SAME_CALL(Curand::uniform_float, curandGenerateUniform);
  EXPECT_SAME_CALL(Curand::uniform_double, curandGenerateUniformDouble);
}

TEST(CudaLibraryHeaders, HaveTheDeclaredNumbers) {
  EXPECT_EQ(int{cublas_plain}, CUBLAS_OP_N);
  EXPECT_EQ(int{cublas_transposed}, CUBLAS_OP_T);
  EXPECT_EQ(int{cuda_float32}, CUDA_R_32F);
  EXPECT_EQ(int{cuda_float64}, CUDA_R_64F);
  EXPECT_EQ(int{cuda_float16}, CUDA_R_16F);
  EXPECT_EQ(int{cuda_bfloat16}, CUDA_R_16BF);
  EXPECT_EQ(int{cuda_int8}, CUDA_R_8I);
  EXPECT_EQ(int{cuda_int32}, CUDA_R_32I);
  EXPECT_EQ(int{cublas_float32}, CUBLAS_COMPUTE_32F);
  EXPECT_EQ(int{cublas_float64}, CUBLAS_COMPUTE_64F);
  EXPECT_EQ(int{cublas_int32}, CUBLAS_COMPUTE_32I);
  EXPECT_EQ(int{CublasLt::op_a}, CUBLASLT_MATMUL_DESC_TRANSA);
  EXPECT_EQ(int{CublasLt::op_b}, CUBLASLT_MATMUL_DESC_TRANSB);
  EXPECT_EQ(int{CublasLt::epilogue}, CUBLASLT_MATMUL_DESC_EPILOGUE);
  EXPECT_EQ(int{CublasLt::bias_pointer}, CUBLASLT_MATMUL_DESC_BIAS_POINTER);
  EXPECT_EQ(int{CublasLt::batch_count}, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
  EXPECT_EQ(int{CublasLt::batch_step}, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
  EXPECT_EQ(int{CublasLt::relu_epilogue}, CUBLASLT_EPILOGUE_RELU);
  EXPECT_EQ(int{CublasLt::bias_epilogue}, CUBLASLT_EPILOGUE_BIAS);
  EXPECT_EQ(int{CublasLt::gelu_epilogue}, CUBLASLT_EPILOGUE_GELU);
  EXPECT_EQ(int{CublasLt::relu_epilogue} | CublasLt::bias_epilogue, CUBLASLT_EPILOGUE_RELU_BIAS);
  EXPECT_EQ(int{CublasLt::gelu_epilogue} | CublasLt::bias_epilogue, CUBLASLT_EPILOGUE_GELU_BIAS);
  EXPECT_EQ(int{CublasLt::alignment_of_a}, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES);
  EXPECT_EQ(int{CublasLt::alignment_of_b}, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES);
  EXPECT_EQ(int{CublasLt::alignment_of_c}, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES);
  EXPECT_EQ(int{CublasLt::alignment_of_d}, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);
  EXPECT_EQ(int{CublasLt::max_workspace_bytes}, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
  EXPECT_EQ(sizeof(CublasLtChoice), sizeof(cublasLtMatmulHeuristicResult_t));
  EXPECT_EQ(offsetof(CublasLtChoice, workspace_bytes),
            offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize));
  EXPECT_EQ(Curand::default_generator, CURAND_RNG_PSEUDO_DEFAULT);
}
#else
TEST(CudaLibraryHeaders, AreCompared) { GTEST_SKIP() << "cuBLAS's headers are not installed"; }
#endif

#ifdef GANTRY_HAS_CUDNN_HEADERS
TEST(CudaLibraryHeaders, OfCudnnHaveTheDeclaredFunctions) {
  EXPECT_SAME_CALL(Cudnn::create, cudnnCreate);
  EXPECT_SAME_CALL(Cudnn::destroy, cudnnDestroy);
  EXPECT_SAME_CALL(Cudnn::set_stream, cudnnSetStream);
  EXPECT_SAME_CALL(Cudnn::error_name, cudnnGetErrorString);
  EXPECT_SAME_CALL(Cudnn::tensor_create, cudnnCreateTensorDescriptor);
  EXPECT_SAME_CALL(Cudnn::tensor_destroy, cudnnDestroyTensorDescriptor);
  EXPECT_SAME_CALL(Cudnn::tensor_set_4d, cudnnSetTensor4dDescriptor);
  EXPECT_SAME_CALL(Cudnn::tensor_set_nd, cudnnSetTensorNdDescriptor);
  EXPECT_SAME_CALL(Cudnn::filter_create, cudnnCreateFilterDescriptor);
  EXPECT_SAME_CALL(Cudnn::filter_destroy, cudnnDestroyFilterDescriptor);
  EXPECT_SAME_CALL(Cudnn::filter_set_4d, cudnnSetFilter4dDescriptor);
  EXPECT_SAME_CALL(Cudnn::filter_set_nd, cudnnSetFilterNdDescriptor);
  EXPECT_SAME_CALL(Cudnn::activation_create, cudnnCreateActivationDescriptor);
  EXPECT_SAME_CALL(Cudnn::activation_destroy, cudnnDestroyActivationDescriptor);
  EXPECT_SAME_CALL(Cudnn::activation_set, cudnnSetActivationDescriptor);
  EXPECT_SAME_CALL(Cudnn::convolution_create, cudnnCreateConvolutionDescriptor);
  EXPECT_SAME_CALL(Cudnn::convolution_destroy, cudnnDestroyConvolutionDescriptor);
  EXPECT_SAME_CALL(Cudnn::convolution_set_2d, cudnnSetConvolution2dDescriptor);
  EXPECT_SAME_CALL(Cudnn::convolution_set_nd, cudnnSetConvolutionNdDescriptor);
  EXPECT_SAME_CALL(Cudnn::convolution_set_groups, cudnnSetConvolutionGroupCount);
  EXPECT_SAME_CALL(Cudnn::convolution_set_math, cudnnSetConvolutionMathType);
  EXPECT_SAME_CALL(Cudnn::biased, cudnnConvolutionBiasActivationForward);
  EXPECT_SAME_CALL(Cudnn::softmax, cudnnSoftmaxForward);
  EXPECT_SAME_CALL(CudnnConvolution::workspace, cudnnGetConvolutionForwardWorkspaceSize);
  EXPECT_SAME_CALL(CudnnConvolution::choose, cudnnGetConvolutionForwardAlgorithm_v7);
  EXPECT_SAME_CALL(CudnnConvolution::find, cudnnFindConvolutionForwardAlgorithm);
  EXPECT_SAME_CALL(CudnnConvolution::run, cudnnConvolutionForward);
  EXPECT_SAME_CALL(CudnnConvolution::workspace, cudnnGetConvolutionBackwardDataWorkspaceSize);
  EXPECT_SAME_CALL(CudnnConvolution::choose, cudnnGetConvolutionBackwardDataAlgorithm_v7);
  EXPECT_SAME_CALL(CudnnConvolution::find, cudnnFindConvolutionBackwardDataAlgorithm);
  EXPECT_SAME_CALL(CudnnConvolution::run, cudnnConvolutionBackwardData);
  EXPECT_SAME_CALL(CudnnConvolution::workspace, cudnnGetConvolutionBackwardFilterWorkspaceSize);
  EXPECT_SAME_CALL(CudnnConvolution::choose, cudnnGetConvolutionBackwardFilterAlgorithm_v7);
  EXPECT_SAME_CALL(CudnnConvolution::find, cudnnFindConvolutionBackwardFilterAlgorithm);
  EXPECT_SAME_CALL(CudnnConvolution::run, cudnnConvolutionBackwardFilter);
}

TEST(CudaLibraryHeaders, OfCudnnHaveTheDeclaredNumbers) {
  EXPECT_EQ(int{cudnn_float32}, CUDNN_DATA_FLOAT);
  EXPECT_EQ(int{cudnn_float64}, CUDNN_DATA_DOUBLE);
  EXPECT_EQ(int{cudnn_float16}, CUDNN_DATA_HALF);
  EXPECT_EQ(int{cudnn_int8}, CUDNN_DATA_INT8);
  EXPECT_EQ(int{cudnn_int32}, CUDNN_DATA_INT32);
  EXPECT_EQ(int{cudnn_bfloat16}, CUDNN_DATA_BFLOAT16);
  EXPECT_EQ(int{cudnn_nchw}, CUDNN_TENSOR_NCHW);
  EXPECT_EQ(int{cudnn_nhwc}, CUDNN_TENSOR_NHWC);
  EXPECT_EQ(int{cudnn_convolution}, CUDNN_CONVOLUTION);
  EXPECT_EQ(int{cudnn_cross_correlation}, CUDNN_CROSS_CORRELATION);
  EXPECT_EQ(int{cudnn_default_math}, CUDNN_DEFAULT_MATH);
  EXPECT_EQ(int{cudnn_tensor_core_math}, CUDNN_TENSOR_OP_MATH);
  EXPECT_EQ(int{cudnn_fma_math}, CUDNN_FMA_MATH);
  EXPECT_EQ(int{cudnn_relu}, CUDNN_ACTIVATION_RELU);
  EXPECT_EQ(int{cudnn_identity}, CUDNN_ACTIVATION_IDENTITY);
  EXPECT_EQ(int{cudnn_keeps_no_nan}, CUDNN_NOT_PROPAGATE_NAN);
  EXPECT_EQ(int{cudnn_softmax_accurate}, CUDNN_SOFTMAX_ACCURATE);
  EXPECT_EQ(int{cudnn_softmax_log}, CUDNN_SOFTMAX_LOG);
  EXPECT_EQ(int{cudnn_softmax_instance}, CUDNN_SOFTMAX_MODE_INSTANCE);
  EXPECT_EQ(int{cudnn_softmax_channel}, CUDNN_SOFTMAX_MODE_CHANNEL);
  EXPECT_EQ(int{cudnn_implicit_precomp_gemm}, CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM);
  for (const int count :
       {int{CUDNN_CONVOLUTION_FWD_ALGO_COUNT}, int{CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT},
        int{CUDNN_CONVOLUTION_BWD_FILTER_ALGO_COUNT}})
    EXPECT_LE(count, CudnnConvolution::max_choices);
  EXPECT_EQ(sizeof(CudnnChoice), sizeof(cudnnConvolutionFwdAlgoPerf_t));
  EXPECT_EQ(offsetof(CudnnChoice, workspace_bytes),
            offsetof(cudnnConvolutionFwdAlgoPerf_t, memory));
  EXPECT_EQ(sizeof(CudnnChoice), sizeof(cudnnConvolutionBwdDataAlgoPerf_t));
  EXPECT_EQ(offsetof(CudnnChoice, workspace_bytes),
            offsetof(cudnnConvolutionBwdDataAlgoPerf_t, memory));
  EXPECT_EQ(sizeof(CudnnChoice), sizeof(cudnnConvolutionBwdFilterAlgoPerf_t));
  EXPECT_EQ(offsetof(CudnnChoice, workspace_bytes),
            offsetof(cudnnConvolutionBwdFilterAlgoPerf_t, memory));
}
#else
TEST(CudaLibraryHeaders, OfCudnnAreCompared) {
  GTEST_SKIP() << "cuDNN's headers are not installed";
}
#endif

}  // namespace
}  // namespace gantry::cuda_libraries::test
