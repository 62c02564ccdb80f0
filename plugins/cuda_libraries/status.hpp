// SPDX-License-Identifier: Apache-2.0
//
// Statuses that NVIDIA's libraries return, with the names that their headers give them.
#pragma once

#include <gantry/result.hpp>

#include <algorithm>
#include <span>
#include <string_view>

namespace gantry::cuda_libraries {

struct StatusName {
  int number;
  std::string_view name;
  Code code;
};

// The error of a failed function: "cublasGemmEx: CUBLAS_STATUS_NOT_SUPPORTED (15)", with the number as
// native code.
//
// library  [in]   "cuBLAS"
// name     [in]   of the status
inline Failure status_failure(std::string_view library, std::string_view name, Code code,
                              std::string_view function, int number) {
  return fail(code, function, ": ", name, " (", number, ')')
      .with_reason("DRIVER_CALL")
      .native(library, number);
}
inline Failure status_failure(std::string_view library, std::span<const StatusName> names,
                              std::string_view function, int number) {
  const auto known = std::ranges::find(names, number, &StatusName::number);
  if (known == names.end())
    return status_failure(library, "unknown status", Code::unavailable, function, number);
  return status_failure(library, known->name, known->code, function, number);
}

}  // namespace gantry::cuda_libraries
