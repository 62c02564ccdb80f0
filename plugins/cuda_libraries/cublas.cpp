// SPDX-License-Identifier: Apache-2.0
#include "cublas.hpp"

#include "find_library.hpp"

namespace gantry::cuda_libraries {
namespace {

constexpr StatusName cublas_statuses[] = {
    {1, "CUBLAS_STATUS_NOT_INITIALIZED", Code::unavailable},
    {3, "CUBLAS_STATUS_ALLOC_FAILED", Code::exhausted},
    {7, "CUBLAS_STATUS_INVALID_VALUE", Code::invalid},
    {8, "CUBLAS_STATUS_ARCH_MISMATCH", Code::unsupported},
    {11, "CUBLAS_STATUS_MAPPING_ERROR", Code::unavailable},
    {13, "CUBLAS_STATUS_EXECUTION_FAILED", Code::unavailable},
    {14, "CUBLAS_STATUS_INTERNAL_ERROR", Code::unavailable},
    {15, "CUBLAS_STATUS_NOT_SUPPORTED", Code::unsupported},
    {16, "CUBLAS_STATUS_LICENSE_ERROR", Code::unavailable},
};

constexpr const char* cublas_sonames[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11"};
constexpr const char* cublaslt_sonames[] = {"libcublasLt.so.13", "libcublasLt.so.12",
                                            "libcublasLt.so.11"};
constexpr LibraryNames cublas_names{"cuBLAS", cublas_sonames,       "cublas",
                                    "cublas", "nvidia-cublas-cu12", "libcublas12"};
constexpr LibraryNames cublaslt_names{"cuBLASLt", cublaslt_sonames,     "cublas",
                                      "cublaslt", "nvidia-cublas-cu12", "libcublaslt12"};

}  // namespace

Failure cublas_failure(std::string_view function, int status) {
  return status_failure("cuBLAS", cublas_statuses, function, status);
}

Result<std::unique_ptr<const Cublas>> Cublas::open(const std::string& named) {
  GANTRY_TRY(const Library library, open_library(cublas_names, named));
  auto made = std::make_unique<Cublas>();
  made->name = library.name();
  GANTRY_CHECK(library.bind({
      required("cublasCreate_v2", made->create),
      required("cublasDestroy_v2", made->destroy),
      required("cublasSetStream_v2", made->set_stream),
      required("cublasSetWorkspace_v2", made->set_workspace),
      required("cublasGemmEx", made->gemm),
      required("cublasGemmStridedBatchedEx", made->gemm_batched),
  }));
  return std::unique_ptr<const Cublas>(std::move(made));
}

Result<std::unique_ptr<CublasHandle>> CublasHandle::create(const Cublas& api, const Driver&) {
  void* handle = nullptr;
  if (const int status = api.create(&handle); status != 0)
    return cublas_failure("cublasCreate_v2", status);
  return std::make_unique<CublasHandle>(api, handle);
}

Result<std::unique_ptr<const CublasLt>> CublasLt::open(const std::string& named) {
  GANTRY_TRY(const Library library, open_library(cublaslt_names, named));
  auto made = std::make_unique<CublasLt>();
  made->name = library.name();
  GANTRY_CHECK(library.bind({
      required("cublasLtCreate", made->create),
      required("cublasLtDestroy", made->destroy),
      required("cublasLtMatmulDescCreate", made->matmul_create),
      required("cublasLtMatmulDescDestroy", made->matmul_destroy),
      required("cublasLtMatmulDescSetAttribute", made->matmul_set),
      required("cublasLtMatrixLayoutCreate", made->layout_create),
      required("cublasLtMatrixLayoutDestroy", made->layout_destroy),
      required("cublasLtMatrixLayoutSetAttribute", made->layout_set),
      required("cublasLtMatmulPreferenceCreate", made->preference_create),
      required("cublasLtMatmulPreferenceDestroy", made->preference_destroy),
      required("cublasLtMatmulPreferenceSetAttribute", made->preference_set),
      required("cublasLtMatmulAlgoGetHeuristic", made->choose),
      required("cublasLtMatmul", made->matmul),
  }));
  return std::unique_ptr<const CublasLt>(std::move(made));
}

Result<std::unique_ptr<CublasLtHandle>> CublasLtHandle::create(const CublasLt& api, const Driver&) {
  void* handle = nullptr;
  if (const int status = api.create(&handle); status != 0)
    return cublas_failure("cublasLtCreate", status);
  return std::make_unique<CublasLtHandle>(api, handle);
}

}  // namespace gantry::cuda_libraries
