// SPDX-License-Identifier: Apache-2.0
//
// Argument lists of the ffi dialect. gantry_value has the layout and the numbers of TVM 0.22 and
// newer, so most lists are passed as they are. Converted are
//
//     device numbers          those of the artifact differ from the runtime's, device_numbers.hpp
//     objects, TVM 0.21       its objects have other numbers and a shorter header: tensors and texts
//                             are passed by address, other objects are rejected
#pragma once

#include "core/module/module.hpp"
#include "core/native/packed/packed_values.hpp"

#include <gantry/value.h>
#include <gantry/result.hpp>

#include <cstdint>
#include <span>

namespace gantry::ffi {

// True if the code of a node can take any list as it is.
bool takes_any_list(const ModuleNode& node);

// A list whose values are converted. The memory that it refers to is valid as long as this object
// and the original list.
class ConvertedList {
 public:
  explicit ConvertedList(std::span<const gantry_value> list)
      : list_(list), values_(count_of(list)), tensors_(count_of(list)), bytes_(count_of(list)) {}

  // Converts a list for code of the node.
  //
  // returns  invalid, reason ARGUMENT_KIND: "argument 2 is ..."
  Status to_host(const ModuleNode& node);
  // Converts a list that code of the node passes to a function.
  Status from_host(const ModuleNode& node);

  std::span<const gantry_value> get() { return {values_.data(), list_.size()}; }

 private:
  static std::int32_t count_of(std::span<const gantry_value> list) {
    return static_cast<std::int32_t>(list.size());
  }
  void pass_tensor(std::int32_t i, const gantry_tensor& tensor, std::int32_t device_type);

  std::span<const gantry_value> list_;
  Few<gantry_value> values_;
  Few<gantry_tensor> tensors_;
  Few<gantry_bytes> bytes_;
};

}  // namespace gantry::ffi
