// SPDX-License-Identifier: Apache-2.0
//
// What the plugin declares of NVIDIA's libraries, compared with their headers where those are installed.
#include "plugins/cuda_libraries/cublas.hpp"
#include "plugins/cuda_libraries/curand.hpp"

#include <gtest/gtest.h>

#include <type_traits>

#if __has_include(<cublas_v2.h>) && __has_include(<cublasLt.h>) && __has_include(<curand.h>)
#include <cublasLt.h>
#include <cublas_v2.h>
#include <curand.h>

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
  EXPECT_EQ(int{CublasLt::max_workspace_bytes}, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
  EXPECT_EQ(sizeof(CublasLtChoice), sizeof(cublasLtMatmulHeuristicResult_t));
  EXPECT_EQ(offsetof(CublasLtChoice, workspace_bytes),
            offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize));
  EXPECT_EQ(Curand::default_generator, CURAND_RNG_PSEUDO_DEFAULT);
}

}  // namespace
}  // namespace gantry::cuda_libraries::test
#else
TEST(CudaLibraryHeaders, AreCompared) { GTEST_SKIP() << "cuBLAS's headers are not installed"; }
#endif
