// SPDX-License-Identifier: Apache-2.0
//
// Argument lists of the ffi dialect. gantry_value has the layout and the numbers of TVM 0.22 and
// newer, so most lists are passed as they are. Converted are
//
//     device numbers          those of the artifact differ from the runtime's, device_numbers.hpp
//     objects, TVM 0.21       its objects have other numbers and a shorter header: tensors and texts
//                             are passed by address, other objects are rejected
//
// Code of TVM 0.21 passes the objects of a virtual machine on, which it has received from this
// runtime as results of functions and items of lists, with its numbers:
//
//     kind                    number    address
//     text, bytes             65, 66    of the object + 8: the content follows a header of 16 bytes
//     shape, tensor           71, 72    of the object + 8
//     array, map              69, 70    of the object
//     others                  the kind  of the object
#pragma once

#include "core/engine/module/module.hpp"
#include "core/engine/native/packed/packed_values.hpp"

#include <gantry/value.h>
#include <gantry/result.hpp>

#include <cstdint>
#include <span>

namespace gantry::ffi {

// Converts a value that code of TVM 0.21 receives from this runtime, except by address. The result
// is valid as long as `value`, in which it may refer to a small text.
gantry_value to_first_ffi(const gantry_value& value);
// Converts an object back.
//
// value    [in,out]  other values are unchanged
// returns  false if it is not an object of this runtime
bool from_first_ffi(gantry_value& value);

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
