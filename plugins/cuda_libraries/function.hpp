// SPDX-License-Identifier: Apache-2.0
//
// Functions of gantry.cuda-libraries. Each is a row of a table of its subject; compiled code of every
// dialect finds it by its name, with the same values as arguments.
#pragma once

#include "cublas.hpp"
#include "curand.hpp"
#include "driver.hpp"
#include "handles.hpp"

#include <gantry/call.hpp>
#include <gantry/handle.hpp>
#include <gantry/result.hpp>

#include <span>
#include <string_view>

namespace gantry::cuda_libraries {

// What the functions of one runtime use.
struct Services {
  explicit Services(Host given) : host(given) {}

  Result<const Driver*> driver();
  Result<const Cublas*> cublas();
  Result<const CublasLt*> cublaslt();
  Result<const Curand*> curand();

  Host host;
  // of the device, that one product may use
  std::uint64_t workspace_bytes = 0;

 private:
  // before the handles, whose destructors use them
  OpenedOnce<Driver> driver_;
  OpenedOnce<Cublas> cublas_;
  OpenedOnce<CublasLt> cublaslt_;
  OpenedOnce<Curand> curand_;

 public:
  Handles<Cublas, CublasHandle> cublas_handles;
  Handles<CublasLt, CublasLtHandle> cublaslt_handles;
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
std::span<const FunctionRow> matmul_functions();
std::span<const FunctionRow> random_functions();

}  // namespace gantry::cuda_libraries
