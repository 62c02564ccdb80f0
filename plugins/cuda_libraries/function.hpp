// SPDX-License-Identifier: Apache-2.0
//
// Functions of gantry.cuda-libraries. Each is a row of a table of its subject; compiled code of every
// dialect finds it by its name, with the same values as arguments.
#pragma once

#include "cublas.hpp"
#include "cudnn.hpp"
#include "curand.hpp"
#include "driver.hpp"
#include "handles.hpp"

#include <gantry/call.hpp>
#include <gantry/cpu_tensor.hpp>
#include <gantry/device_name.hpp>
#include <gantry/handle.hpp>
#include <gantry/result.hpp>
#include <gantry/tensor_text.hpp>

#include <array>
#include <span>
#include <string_view>

namespace gantry::cuda_libraries {

// What the functions of one runtime use.
struct Services {
  explicit Services(Host given) : host(given) {}

  // returns  INVALID  the value of an option is not one of its type (CONFIG)
  Status read_options();

  Result<const Driver*> driver();
  Result<const Cublas*> cublas();
  Result<const CublasLt*> cublaslt();
  Result<const Cudnn*> cudnn();
  Result<const Curand*> curand();

  Host host;
  // of the device, that one call may use
  std::uint64_t workspace_bytes = 0;

 private:
  // before the handles, whose destructors use them
  OpenedOnce<Driver> driver_;
  OpenedOnce<Cublas> cublas_;
  OpenedOnce<CublasLt> cublaslt_;
  OpenedOnce<Cudnn> cudnn_;
  OpenedOnce<Curand> curand_;

 public:
  Handles<Cublas, CublasHandle> cublas_handles;
  Handles<CublasLt, CublasLtHandle> cublaslt_handles;
  Handles<Cudnn, CudnnHandle> cudnn_handles;
  Handles<Curand, CurandGenerator> generators;
};

struct FunctionRow {
  // "tvm.contrib.cublas.matmul"
  std::string_view name;
  // Argument names for errors: "matmul(A, B, C, transa, transb[, alpha, beta])".
  std::string_view usage;
  // call     arguments are borrowed; its usage is that of the row
  Result<Value> (*run)(Services& services, const Call& call);
};

// Rows of one subject each.
std::span<const FunctionRow> convolution_functions();
std::span<const FunctionRow> matmul_functions();
std::span<const FunctionRow> random_functions();
std::span<const FunctionRow> softmax_functions();

// Rows of all subjects.
inline std::array<std::span<const FunctionRow>, 4> function_tables() {
  return {convolution_functions(), matmul_functions(), random_functions(), softmax_functions()};
}

// Returns the address of the elements.
inline void* address_of(const gantry_tensor& tensor) {
  return static_cast<char*>(tensor.data) + tensor.byte_offset;
}

// returns  INVALID  the argument is no compact tensor on a device cuda, or not aligned to its elements
inline Result<const gantry_tensor*> compact_cuda_at(const Call& call, std::size_t i) {
  GANTRY_TRY(const gantry_tensor* const tensor, call.tensor(i));
  if (tensor->device.type != dlpack_number("cuda") || !is_compact(*tensor))
    return call.wrong(i, "a compact tensor on a device cuda");
  // A kernel that reads another address ends the context.
  GANTRY_CHECK(check_aligned(call, i, *tensor));
  return tensor;
}

// returns  INVALID  tensors of one call are on different devices
inline Status check_one_device(const Call& call, const gantry_tensor& first,
                               const gantry_tensor& other) {
  if (same_device(first.device, other.device)) return {};
  return call.refuse("tensors are on ", device_text(first.device), " and ",
                     device_text(other.device), ", expected one device");
}

}  // namespace gantry::cuda_libraries
