// SPDX-License-Identifier: Apache-2.0
//
// Named arrays in CPU memory: what a run gives, what it is compared with, what is written.
#pragma once

#include "tools/gantry/common/compare.hpp"
#include "tools/gantry/common/json_document.hpp"

#include <gantry/runtime.hpp>

#include <gantry/result.hpp>

#include <span>
#include <string>
#include <vector>

namespace gantry::cli {

struct HostArray {
  std::string name;
  // on the CPU, compact
  Tensor tensor;
};

// A copy of a tensor, from wherever it is.
Result<Tensor> copy_to_cpu(Runtime& runtime, const Tensor& tensor);

ArrayView view_of(const HostArray& array);
// An object of name, dtype, shape.
void write_type(const HostArray& array, JsonWriter& json);
// "output  float32[1, 10]  0.5 0.25 ...": at most eight elements.
std::string line_of(const HostArray& array);

Status write_arrays(const std::string& path, std::span<const HostArray> arrays);

// The members of a file that a run is compared with.
class ExpectedArrays {
 public:
  static Result<ExpectedArrays> read(Runtime& runtime, const std::string& path);

  // only     compare what the file holds and let other arrays pass; else a further array differs
  Status compare_with(std::span<const HostArray> found, Tolerance tolerance, bool only) const;

 private:
  std::string path_;
  std::vector<HostArray> arrays_;
};

}  // namespace gantry::cli
