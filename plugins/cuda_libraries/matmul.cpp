// SPDX-License-Identifier: Apache-2.0
//
// Products of matrices, `tvm.contrib.cublas.*` and `tvm.contrib.cublaslt.matmul`.
//
// The libraries' matrices are column-major. C = op(A) op(B) of row-major matrices is therefore the product
// of B and A, in this order, of which no element is moved.
//
// source   apache/tvm src/runtime/contrib/cublas/cublas.cc
#include "product.hpp"

#include <gantry/dtype_text.hpp>
#include <gantry/matrix_product.hpp>
#include <gantry/tensor_text.hpp>
#include <gantry/trace.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

namespace gantry::cuda_libraries {
namespace {

// CUBLAS_GEMM_DEFAULT
constexpr int default_algorithm = -1;

// Element types of a product, and how it is computed.
struct ProductType {
  gantry_dtype input, output;
  int cuda_input, cuda_output, compute;
  // cudaDataType of alpha and beta
  int scale;
};
constexpr ProductType product_types[] = {
    {dtypes::float32, dtypes::float32, cuda_float32, cuda_float32, cublas_float32, cuda_float32},
    {dtypes::float64, dtypes::float64, cuda_float64, cuda_float64, cublas_float64, cuda_float64},
    {dtypes::float16, dtypes::float16, cuda_float16, cuda_float16, cublas_float32, cuda_float32},
    {dtypes::float16, dtypes::float32, cuda_float16, cuda_float32, cublas_float32, cuda_float32},
    {dtypes::bfloat16, dtypes::bfloat16, cuda_bfloat16, cuda_bfloat16, cublas_float32,
     cuda_float32},
    {dtypes::bfloat16, dtypes::float32, cuda_bfloat16, cuda_float32, cublas_float32, cuda_float32},
    {dtypes::int8, dtypes::int32, cuda_int8, cuda_int32, cublas_int32, cuda_int32},
    {dtypes::int8, dtypes::float32, cuda_int8, cuda_float32, cublas_float32, cuda_float32},
};

Result<const ProductType*> type_of(const Call& call, const MatrixProduct& product) {
  const gantry_dtype input = product.a.tensor->dtype;
  if (!same_dtype(product.b.tensor->dtype, input))
    return call.wrong(1, concat("a tensor of ", dtype_text(input), " as argument 0 (A)"));
  std::string outputs;
  for (const ProductType& type : product_types) {
    if (!same_dtype(type.input, input)) continue;
    if (same_dtype(type.output, product.c.tensor->dtype)) return &type;
    outputs.append(outputs.empty() ? "" : " or ").append(dtype_text(type.output));
  }
  if (outputs.empty())
    return call.wrong(0, "a tensor of float16, bfloat16, float32, float64 or int8");
  return call.wrong(2, concat("a tensor of ", outputs, " for products of ", dtype_text(input)));
}

// A factor in the type that the library reads it in.
struct Factor {
  Factor(double value, int scale)
      : float32(static_cast<float>(value)),
        float64(value),
        int32(scale == cuda_int32 ? static_cast<std::int32_t>(value) : 0),
        type(scale) {}
  const void* address() const {
    return type == cuda_int32     ? static_cast<const void*>(&int32)
           : type == cuda_float64 ? static_cast<const void*>(&float64)
                                  : static_cast<const void*>(&float32);
  }
  float float32;
  double float64;
  std::int32_t int32;
  int type;
};

// A matrix as the libraries read it: column-major.
struct ColumnMajor {
  explicit ColumnMajor(const MatrixOperand& operand)
      : op(operand.is_transposed() ? cublas_transposed : cublas_plain),
        rows(operand.is_transposed() ? operand.rows : operand.columns),
        columns(operand.is_transposed() ? operand.columns : operand.rows),
        distance(std::max<std::int64_t>(operand.distance(), 1)),
        data(address_of(*operand.tensor)) {}

  int op;
  // as stored
  std::int64_t rows, columns, distance;
  void* data;
};

struct Job {
  MatrixProduct product;
  const ProductType* type;
  std::int64_t m, n, k;
};

// returns  m = 0 for a product without elements
Result<Job> job_of(const Call& call, std::int32_t rank) {
  constexpr std::int32_t cuda = dlpack_number("cuda");
  GANTRY_TRY(const MatrixProduct product, matrix_product_of(call, rank, cuda));
  for (const MatrixOperand* operand : {&product.b, &product.c})
    GANTRY_CHECK(check_one_device(call, *product.a.tensor, *operand->tensor));
  GANTRY_TRY(const ProductType* const type, type_of(call, product));
  Job job{product, type, product.c.rows, product.c.columns, product.a.columns};
  if (is_empty(*product.c.tensor)) {
    job.m = 0;
    return job;
  }
  if (type->scale == cuda_int32) {
    for (const double factor : {product.alpha, product.beta}) {
      if (factor != std::trunc(factor) || std::abs(factor) > INT32_MAX)
        return call.refuse("factor is ", factor, ", expected an integer of 32 bits for int32");
    }
  }
  constexpr std::int64_t max = std::numeric_limits<int>::max();
  const bool has_inner = job.k != 0;
  if (!product.c.is_for_library(max) || product.c.batch > max ||
      (has_inner && !(product.a.is_for_library(max) && product.b.is_for_library(max)))) {
    return call.refuse(
        "a product of ", tensor_text(*product.a.tensor), " and ", tensor_text(*product.b.tensor),
        " has rows that overlap, or extents of more than ", max, ", which cuBLAS does not compute");
  }
  return job;
}

Status run_cublas(Services& services, const Call& call, const Job& job) {
  const MatrixProduct& product = job.product;
  GANTRY_TRY(const Driver* const driver, services.driver());
  GANTRY_TRY(const Cublas* const cublas, services.cublas());
  GANTRY_TRY(const Session session,
             Session::begin(*driver, services.host, *call.env, product.c.tensor->device));
  const TracedWork traced(
      services.host, concat(call.usage.substr(0, call.usage.find('(')), " with ", cublas->name),
      "library");
  GANTRY_TRY(const auto handle, services.cublas_handles.take(*cublas, *driver, session));
  // Sets the library's own workspace, too; in a captured stream it is a part of the graph.
  if (const int status = cublas->set_stream(handle->handle, session.stream()); status != 0)
    return cublas_failure("cublasSetStream_v2", status);
  Session::Memory workspace;
  if (!session.is_captured() && services.workspace_bytes != 0) {
    GANTRY_TRY(workspace, session.allocate(services.workspace_bytes));
    const int status =
        cublas->set_workspace(handle->handle, workspace.data(), services.workspace_bytes);
    if (status != 0) return cublas_failure("cublasSetWorkspace_v2", status);
  }

  const ProductType& type = *job.type;
  const ColumnMajor a(product.a), b(product.b), c(product.c);
  const Factor alpha(product.alpha, type.scale), beta(product.beta, type.scale);
  const auto narrow = [](std::int64_t number) { return static_cast<int>(number); };
  const bool is_batch = product.c.tensor->ndim == 3;
  const int status =
      is_batch
          ? cublas->gemm_batched(handle->handle, b.op, a.op, narrow(job.n), narrow(job.m),
                                 narrow(job.k), alpha.address(), b.data, type.cuda_input,
                                 narrow(b.distance), product.b.used_batch_step(), a.data,
                                 type.cuda_input, narrow(a.distance), product.a.used_batch_step(),
                                 beta.address(), c.data, type.cuda_output, narrow(c.distance),
                                 product.c.used_batch_step(), narrow(product.c.batch), type.compute,
                                 default_algorithm)
          : cublas->gemm(handle->handle, b.op, a.op, narrow(job.n), narrow(job.m), narrow(job.k),
                         alpha.address(), b.data, type.cuda_input, narrow(b.distance), a.data,
                         type.cuda_input, narrow(a.distance), beta.address(), c.data,
                         type.cuda_output, narrow(c.distance), type.compute, default_algorithm);
  if (status == 0) return {};
  return cublas_failure(is_batch ? "cublasGemmStridedBatchedEx" : "cublasGemmEx", status)
      .at("in a product of ", tensor_text(*product.a.tensor), " and ",
          tensor_text(*product.b.tensor), " with ", cublas->name);
}

template <std::int32_t rank>
Result<Value> cublas_matmul(Services& services, const Call& call) {
  GANTRY_TRY(const Job job, job_of(call, rank));
  if (job.m != 0) GANTRY_CHECK(run_cublas(services, call, job));
  return Value();
}

// A descriptor of cuBLASLt, and the function that frees it.
class Descriptor {
 public:
  explicit Descriptor(int (*destroy)(void*)) : destroy_(destroy) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (made != nullptr) destroy_(made);
  }
  void* made = nullptr;

 private:
  int (*destroy_)(void*);
};

// Returns the largest power of two up to 256 that divides an address.
std::uint32_t alignment_of(const void* address) {
  const auto bits = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(address)) | 256u;
  return bits & (~bits + 1);
}

// returns  1 or the sum of the library's flags
int epilogue_of(const ProductEpilogue& what) {
  const int activation = what.activation == ProductActivation::relu   ? CublasLt::relu_epilogue
                         : what.activation == ProductActivation::gelu ? CublasLt::gelu_epilogue
                                                                      : 0;
  const int flags = activation | (what.bias != nullptr ? CublasLt::bias_epilogue : 0);
  return flags == 0 ? 1 : flags;
}

Status run_cublaslt(Services& services, const Call& call, const Job& job,
                    const ProductEpilogue& after) {
  const MatrixProduct& product = job.product;
  GANTRY_TRY(const Driver* const driver, services.driver());
  GANTRY_TRY(const CublasLt* const lt, services.cublaslt());
  GANTRY_TRY(const Session session,
             Session::begin(*driver, services.host, *call.env, product.c.tensor->device));
  const TracedWork traced(services.host, concat("matmul with ", lt->name), "library");
  GANTRY_TRY(const auto handle, services.cublaslt_handles.take(*lt, *driver, session));

  const ProductType& type = *job.type;
  const ColumnMajor a(product.a), b(product.b), c(product.c);
  const auto checked = [](std::string_view function, int status) -> Status {
    if (status == 0) return {};
    return cublas_failure(function, status);
  };
  Descriptor matmul(lt->matmul_destroy), first(lt->layout_destroy), second(lt->layout_destroy),
      output(lt->layout_destroy), preference(lt->preference_destroy);
  GANTRY_CHECK(checked("cublasLtMatmulDescCreate",
                       lt->matmul_create(&matmul.made, type.compute, type.scale)));
  for (const auto& [attribute, op] :
       {std::pair<int, int>{CublasLt::op_a, b.op}, {CublasLt::op_b, a.op}}) {
    GANTRY_CHECK(checked("cublasLtMatmulDescSetAttribute",
                         lt->matmul_set(matmul.made, attribute, &op, sizeof op)));
  }
  if (const int epilogue = epilogue_of(after); epilogue != 1) {
    GANTRY_CHECK(
        checked("cublasLtMatmulDescSetAttribute",
                lt->matmul_set(matmul.made, CublasLt::epilogue, &epilogue, sizeof epilogue)));
  }
  if (after.bias != nullptr) {
    const void* const bias = address_of(*after.bias);
    GANTRY_CHECK(checked("cublasLtMatmulDescSetAttribute",
                         lt->matmul_set(matmul.made, CublasLt::bias_pointer, &bias, sizeof bias)));
  }
  const auto describe = [&](Descriptor& into, const ColumnMajor& matrix, int element,
                            std::int64_t batch_step) -> Status {
    GANTRY_CHECK(
        checked("cublasLtMatrixLayoutCreate",
                lt->layout_create(&into.made, element, static_cast<std::uint64_t>(matrix.rows),
                                  static_cast<std::uint64_t>(matrix.columns), matrix.distance)));
    if (product.c.batch == 1) return {};
    const auto count = static_cast<std::int32_t>(product.c.batch);
    GANTRY_CHECK(checked("cublasLtMatrixLayoutSetAttribute",
                         lt->layout_set(into.made, CublasLt::batch_count, &count, sizeof count)));
    return checked("cublasLtMatrixLayoutSetAttribute",
                   lt->layout_set(into.made, CublasLt::batch_step, &batch_step, sizeof batch_step));
  };
  GANTRY_CHECK(describe(first, b, type.cuda_input, product.b.used_batch_step()));
  GANTRY_CHECK(describe(second, a, type.cuda_input, product.a.used_batch_step()));
  GANTRY_CHECK(describe(output, c, type.cuda_output, product.c.used_batch_step()));
  GANTRY_CHECK(checked("cublasLtMatmulPreferenceCreate", lt->preference_create(&preference.made)));
  // A graph would use the memory after it is freed.
  const std::uint64_t max_bytes = session.is_captured() ? 0 : services.workspace_bytes;
  GANTRY_CHECK(checked("cublasLtMatmulPreferenceSetAttribute",
                       lt->preference_set(preference.made, CublasLt::max_workspace_bytes,
                                          &max_bytes, sizeof max_bytes)));
  // Otherwise the library expects 256.
  const std::pair<int, const void*> addresses[] = {{CublasLt::alignment_of_a, b.data},
                                                   {CublasLt::alignment_of_b, a.data},
                                                   {CublasLt::alignment_of_c, c.data},
                                                   {CublasLt::alignment_of_d, c.data}};
  for (const auto& [attribute, address] : addresses) {
    const std::uint32_t bytes = alignment_of(address);
    GANTRY_CHECK(checked("cublasLtMatmulPreferenceSetAttribute",
                         lt->preference_set(preference.made, attribute, &bytes, sizeof bytes)));
  }
  CublasLtChoice choice{};
  int count = 0;
  GANTRY_CHECK(checked("cublasLtMatmulAlgoGetHeuristic",
                       lt->choose(handle->handle, matmul.made, first.made, second.made, output.made,
                                  output.made, preference.made, 1, &choice, &count)));
  if (count < 1) return cublas_failure("cublasLtMatmulAlgoGetHeuristic", 15);
  Session::Memory workspace;
  if (choice.workspace_bytes != 0) {
    GANTRY_TRY(workspace, session.allocate(choice.workspace_bytes));
  }
  const Factor alpha(product.alpha, type.scale), beta(product.beta, type.scale);
  return checked(
      "cublasLtMatmul",
      lt->matmul(handle->handle, matmul.made, alpha.address(), b.data, first.made, a.data,
                 second.made, beta.address(), c.data, output.made, c.data, output.made,
                 choice.algorithm, workspace.data(), choice.workspace_bytes, session.stream()));
}

Result<Value> cublaslt_matmul(Services& services, const Call& call) {
  GANTRY_CHECK(product_with(services, call, 2, {}));
  return Value();
}

constexpr FunctionRow matmul_rows[] = {
    {"tvm.contrib.cublas.matmul", matmul_usage, cublas_matmul<2>},
    {"tvm.contrib.cublas.batch_matmul", "batch_matmul(A, B, C, transa, transb[, alpha, beta])",
     cublas_matmul<3>},
    {"tvm.contrib.cublaslt.matmul", matmul_usage, cublaslt_matmul},
};

}  // namespace

Status product_with(Services& services, const Call& call, std::int32_t rank,
                    const ProductEpilogue& after) {
  GANTRY_TRY(const Job job, job_of(call, rank));
  if (job.m == 0) return {};
  if (after.bias != nullptr) {
    const gantry_tensor& c = *job.product.c.tensor;
    GANTRY_CHECK(check_one_device(call, c, *after.bias));
    const auto shape = shape_of(*after.bias);
    const bool is_row =
        !shape.empty() && shape.back() == job.n &&
        std::ranges::all_of(shape.first(shape.size() - 1), [](std::int64_t n) { return n == 1; });
    const bool is_aligned =
        reinterpret_cast<std::uintptr_t>(address_of(*after.bias)) % element_bytes(c.dtype) == 0;
    if (!same_dtype(after.bias->dtype, c.dtype) || !is_compact(*after.bias) || !is_row ||
        !is_aligned) {
      return call.refuse("the bias is ", tensor_text(*after.bias), ", expected ",
                         type_text(c.dtype, std::span(&job.n, 1)),
                         " at a multiple of its elements' size");
    }
  }
  if (job.type->scale == cuda_int32 && epilogue_of(after) != 1) {
    return unsupported(call.usage, ": cuBLASLt has no bias and no activation of int32")
        .with_reason("SUBGRAPH_OPERATOR");
  }
  Status done = run_cublaslt(services, call, job, after);
  if (done.ok()) return done;
  return std::move(done).failure().at("in a product of ", tensor_text(*job.product.a.tensor),
                                      " and ", tensor_text(*job.product.b.tensor));
}

std::span<const FunctionRow> matmul_functions() { return matmul_rows; }

}  // namespace gantry::cuda_libraries
