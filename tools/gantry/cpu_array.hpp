// SPDX-License-Identifier: Apache-2.0
//
// Named arrays in CPU memory: outputs of a run, expected outputs, arrays to write.
#pragma once

#include "core/base/json_document.hpp"
#include "tools/gantry/common/compare.hpp"

#include "core/base/output_file.hpp"

#include <gantry/embed.hpp>
#include <gantry/result.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace gantry::cli {

struct CpuArray {
  std::string name;
  // on the CPU, compact
  Tensor tensor;
};

// Returns the type with which files contain elements that NumPy does not have: unsigned integers of
// their width. NumPy's boolean is read as uint1.
gantry_dtype numpy_dtype(gantry_dtype dtype);

// Creates a tensor of zeros on a device.
Result<Tensor> zeros(const Runtime& runtime, std::span<const std::int64_t> shape,
                     gantry_dtype dtype, const std::string& device = "cpu");
// Copies a tensor to a device.
Result<Tensor> copied_to(const Runtime& runtime, const Tensor& tensor, const std::string& device);

ArrayView view_of(const CpuArray& array);
// Writes the array's name, dtype and shape.
void write_type(const CpuArray& array, JsonWriter& json);

// The values of an output that a report has.
struct ShownValues {
  // all of them, those of the last axis in one line
  bool all = false;
  // the largest ones, NaN first, with their indices: of each element of the first axis, or of the
  // whole array if it has fewer than two axes; 0: not given
  std::size_t top = 0;
};
// "output  float32[1, 10]  0.5 0.25 ...", with at most eight elements, or with a line for each row or
// value below it.
std::string values_text(const CpuArray& array, ShownValues shown);
// Writes `values`, lists within each other as the shape has them, or `top`, objects of index and
// value; nothing if neither is to be shown. Values that are no finite numbers are texts.
void write_values(const CpuArray& array, ShownValues shown, JsonWriter& json);

// Writes one array to an .npy file, or all arrays to an .npz file or a stream, with the types of
// numpy_dtype(), and commits the file.
//
// returns  invalid if the name ends with ".npy" and there is not exactly one array
Status write_arrays(OutputFile& file, std::span<const CpuArray> arrays);

// The arrays of a file that the outputs of a run are compared with.
class ExpectedArrays {
 public:
  static Result<ExpectedArrays> read(const Runtime& runtime, const std::string& path);

  // Compares arrays with those of the types of numpy_dtype(), by name, or by position if all arrays of the file have names of output_name(),
  // as the outputs of an artifact that does not name them.
  //
  // only     ignore arrays of `found` that the file does not contain; otherwise they are
  //          differences
  Status compare_with(std::span<const CpuArray> found, Tolerance tolerance, bool only) const;

 private:
  // The arrays, with names of `found` in place of positions.
  std::vector<CpuArray> named_as(std::span<const CpuArray> found) const;

  std::string path_;
  std::vector<CpuArray> arrays_;
};

}  // namespace gantry::cli
