// SPDX-License-Identifier: Apache-2.0
//
// What a run returns: values by name, and the arrays that files contain.
#pragma once

#include "tools/gantry/cpu_array.hpp"

#include <gantry/embed.hpp>
#include <gantry/result.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gantry::cli {

// A value that is neither a tensor nor a number: `"text"`, `shape [2, 3]`, `an object`.
struct NamedText {
  std::string name;
  std::string text;
};

// Collects the outputs of `count` runs in CPU memory. With `each`, row i of an array is an output
// of run i; without it, the array is the output. Numbers become arrays without axes.
class Outputs {
 public:
  explicit Outputs(const Runtime& runtime, bool each = false, std::int64_t count = 1)
      : runtime_(runtime), each_(each), count_(count) {}

  // run      [in]   ascending from 0
  // returns  invalid if the outputs have not the number and types of those of run 0, which the rows
  //          of an array have
  Status add(std::int64_t run, std::span<const NamedValue> outputs);
  std::vector<CpuArray> take_arrays() { return std::move(arrays_); }
  // Returns those of the last run.
  std::vector<NamedText> take_texts() { return std::move(texts_); }

 private:
  Status add_tensor(std::int64_t run, std::size_t index, const std::string& name,
                    const Tensor& tensor);

  const Runtime& runtime_;
  bool each_;
  std::int64_t count_;
  std::vector<CpuArray> arrays_;
  std::vector<NamedText> texts_;
};

}  // namespace gantry::cli
