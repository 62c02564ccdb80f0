// SPDX-License-Identifier: Apache-2.0
//
// Conversion of argument lists and results between gantry_value and TVMValue with its codes.
#pragma once

#include "core/engine/module/module.hpp"
#include "core/engine/native/packed/tvm_abi.hpp"

#include <gantry/value.h>
#include <gantry/result.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace gantry {

// Storage for a list: up to 16 elements on the stack, which suffices for most compiled functions,
// else on the heap.
template <class T>
class Few {
 public:
  explicit Few(std::int32_t count)
      : many_(count > kFew ? std::make_unique_for_overwrite<T[]>(static_cast<std::size_t>(count))
                           : nullptr),
        data_(many_ ? many_.get() : reinterpret_cast<T*>(few_)) {}
  Few(const Few&) = delete;
  Few& operator=(const Few&) = delete;
  T& operator[](std::int32_t i) { return data_[i]; }
  T* data() { return data_; }

 private:
  static constexpr std::int32_t kFew = 16;
  static_assert(std::is_trivially_copyable_v<T>);
  alignas(
      // not initialized, so that the cost depends on the number of arguments
      T) std::byte few_[kFew * sizeof(T)];
  std::unique_ptr<T[]> many_;
  T* data_;
};

// The arguments of one call to CPU code. The memory that they point to is valid as long as this
// object and `values`.
class PackedArguments {
 public:
  explicit PackedArguments(std::int32_t count)
      : values_(count), codes_(count), tensors_(count), count_(count) {}

  // returns  invalid for a kind that CPU code cannot take, a NULL pointer or a text that contains
  //          a NUL: "argument 2 is ..."
  Status fill(const ModuleNode& node, const gantry_value* values);

  PackedValue* values() { return values_.data(); }
  int* codes() { return codes_.data(); }

 private:
  Status fill_text(std::int32_t i, const gantry_value& value);

  Few<PackedValue> values_;
  Few<int> codes_;
  // copies with the artifact's device numbers, where they differ
  Few<gantry_tensor> tensors_;
  std::int32_t count_;
  // TVMByteArrays of small bytes
  std::vector<std::unique_ptr<gantry_bytes>> side_bytes_;
};

// The arguments of a call from CPU code.
class GantryArguments {
 public:
  explicit GantryArguments(std::int32_t count) : values_(count), tensors_(count), count_(count) {}

  // node     [in]   the caller's module
  // returns  invalid for a type code that has no kind: "argument 2 has type code 8"
  Status fill(const ModuleNode* node, const PackedValue* values, const int* codes);

  const gantry_value* values() { return values_.data(); }

 private:
  Few<gantry_value> values_;
  Few<gantry_tensor> tensors_;
  std::int32_t count_;
};

// Converts a result of CPU code to a value that the caller owns: texts are copied, functions and
// modules retained.
//
// returns  unsupported, with the type code, for a code that has no owned value
Result<Value> result_from_host(const ModuleNode& node, PackedValue value, int code);
// As result_from_host(), and retains any object of this runtime, for an item of a list.
Result<Value> item_from_host(const ModuleNode& node, PackedValue value, int code);

// A value with its type code.
struct PackedItem {
  PackedValue value;
  int code;
};

// Converts an owned value that CPU code borrows. An object has the code of its kind, and others the
// code 8; a tensor is passed as the address of its description, from which arguments and results
// are converted back to the object.
//
// node     [in]   the code's module; may be NULL
// value    [in]   valid as long as the result; not a small text
PackedItem to_borrowed(const ModuleNode* node, const gantry_value& value);

}  // namespace gantry
