// SPDX-License-Identifier: Apache-2.0
//
// What is used of cuBLAS and cuBLASLt, declared here with the numbers of their headers since CUDA 11.
//
// source   NVIDIA's documentation of cuBLAS 11 to 13
#pragma once

#include "driver.hpp"
#include "status.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace gantry::cuda_libraries {

// cublasOperation_t
enum : int { cublas_plain = 0, cublas_transposed = 1 };
// cudaDataType
enum : int {
  cuda_float32 = 0,
  cuda_float64 = 1,
  cuda_float16 = 2,
  cuda_int8 = 3,
  cuda_int32 = 10,
  cuda_bfloat16 = 14
};
// cublasComputeType_t
enum : int { cublas_float32 = 68, cublas_float64 = 70, cublas_int32 = 72 };

Failure cublas_failure(std::string_view function, int status);

struct Cublas {
  static Result<std::unique_ptr<const Cublas>> open(const std::string& library);

  int (*create)(void** handle) = nullptr;
  int (*destroy)(void* handle) = nullptr;
  int (*set_stream)(void* handle, void* stream) = nullptr;
  int (*set_workspace)(void* handle, void* workspace, std::size_t bytes) = nullptr;
  // Matrices are column-major. The last two arguments are compute type and algorithm.
  int (*gemm)(void* handle, int op_a, int op_b, int m, int n, int k, const void* alpha,
              const void* a, int a_type, int lda, const void* b, int b_type, int ldb,
              const void* beta, void* c, int c_type, int ldc, int compute, int algorithm) = nullptr;
  int (*gemm_batched)(void* handle, int op_a, int op_b, int m, int n, int k, const void* alpha,
                      const void* a, int a_type, int lda, long long a_step, const void* b,
                      int b_type, int ldb, long long b_step, const void* beta, void* c, int c_type,
                      int ldc, long long c_step, int count, int compute, int algorithm) = nullptr;
  // "libcublas.so.12"
  std::string name;
};

struct CublasHandle {
  static constexpr bool is_of_stream = false;
  static Result<std::unique_ptr<CublasHandle>> create(const Cublas& api, const Driver& driver);
  CublasHandle(const Cublas& given, void* made) : api(given), handle(made) {}
  CublasHandle(const CublasHandle&) = delete;
  CublasHandle& operator=(const CublasHandle&) = delete;
  ~CublasHandle() { api.destroy(handle); }

  const Cublas& api;
  void* handle;
};

// cublasLtMatmulHeuristicResult_t
struct CublasLtChoice {
  std::uint64_t algorithm[8];
  std::size_t workspace_bytes;
  int status;
  float waves;
  int reserved[4];
};
static_assert(sizeof(CublasLtChoice) == 96);

struct CublasLt {
  static Result<std::unique_ptr<const CublasLt>> open(const std::string& library);

  // cublasLtMatmulDescAttributes_t, cublasLtMatmulPreferenceAttributes_t, cublasLtMatrixLayoutAttribute_t
  enum : int { op_a = 3, op_b = 4, epilogue = 7, bias_pointer = 8 };
  enum : int { max_workspace_bytes = 1, alignment_of_a = 5, alignment_of_b = 6 };
  enum : int { alignment_of_c = 7, alignment_of_d = 8 };
  enum : int { batch_count = 5, batch_step = 6 };
  // cublasLtEpilogue_t, or-ed. 1: none
  enum : int { relu_epilogue = 2, bias_epilogue = 4, gelu_epilogue = 32 };

  int (*create)(void** handle) = nullptr;
  int (*destroy)(void* handle) = nullptr;
  int (*matmul_create)(void** matmul, int compute, int scale_type) = nullptr;
  int (*matmul_destroy)(void* matmul) = nullptr;
  int (*matmul_set)(void* matmul, int attribute, const void* value, std::size_t bytes) = nullptr;
  int (*layout_create)(void** layout, int type, std::uint64_t rows, std::uint64_t columns,
                       std::int64_t distance) = nullptr;
  int (*layout_destroy)(void* layout) = nullptr;
  int (*layout_set)(void* layout, int attribute, const void* value, std::size_t bytes) = nullptr;
  int (*preference_create)(void** preference) = nullptr;
  int (*preference_destroy)(void* preference) = nullptr;
  int (*preference_set)(void* preference, int attribute, const void* value,
                        std::size_t bytes) = nullptr;
  int (*choose)(void* handle, void* matmul, void* a, void* b, void* c, void* d, void* preference,
                int max_count, CublasLtChoice* choices, int* count) = nullptr;
  int (*matmul)(void* handle, void* matmul, const void* alpha, const void* a, void* a_layout,
                const void* b, void* b_layout, const void* beta, const void* c, void* c_layout,
                void* d, void* d_layout, const void* algorithm, void* workspace, std::size_t bytes,
                void* stream) = nullptr;
  std::string name;
};

struct CublasLtHandle {
  static constexpr bool is_of_stream = false;
  static Result<std::unique_ptr<CublasLtHandle>> create(const CublasLt& api, const Driver& driver);
  CublasLtHandle(const CublasLt& given, void* made) : api(given), handle(made) {}
  CublasLtHandle(const CublasLtHandle&) = delete;
  CublasLtHandle& operator=(const CublasLtHandle&) = delete;
  ~CublasLtHandle() { api.destroy(handle); }

  const CublasLt& api;
  void* handle;
};

}  // namespace gantry::cuda_libraries
