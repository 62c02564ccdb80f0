// SPDX-License-Identifier: Apache-2.0
//
// The inputs and outputs of the models in a file, in one form for graphs, code compiled ahead of time and
// both virtual machines. The text and the JSON of `inspect` begin with them.
#pragma once

#include "core/base/warning_list.hpp"
#include "core/formats/inspect/report.hpp"

#include <gantry/tensor_type.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gantry {

// Each tensor has a copy of its function's name, which may be as long as the file.
inline constexpr std::size_t max_function_characters = 256;

// Texts are unmodified bytes from the file: escape them.
struct StatedTensor {
  // index of the module
  std::size_t module = 0;
  // of a virtual machine, its first max_function_characters; empty: the model has one function
  std::string function;
  std::string name;
  // nullopt: the file does not state it, or it is no tensor
  std::optional<TensorType> type;
  // of each extent that is known when the function runs, the text: "n". Empty: a number. May be
  // shorter than the shape
  std::vector<std::string> extents;
  // "float32[n, 64]", or the annotation of what is no tensor; empty: not stated
  std::string text;
  // device type in the artifact's numbering; -1: not stated
  std::int64_t device_number = -1;
};

// "opencl", or "device 99" of a number without a name; empty: not stated.
std::string device_text(const StatedTensor& tensor);

struct StatedSignature {
  std::vector<StatedTensor> inputs;
  std::vector<StatedTensor> outputs;
};

// warnings  [out]  receives a warning for each graph that could not be read
// returns   in the order of modules and functions, without parameters of graphs
// costs     parses graphs and code of virtual machines
StatedSignature signature_of(const InspectReport& report, WarningList& warnings);

}  // namespace gantry
