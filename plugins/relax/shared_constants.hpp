// SPDX-License-Identifier: Apache-2.0
//
// The constants of an executable on one device, which all machines on it use.
#pragma once

#include <gantry/handle.hpp>

#include <cstdint>
#include <vector>

namespace gantry::relax {

class SharedConstants {
 public:
  // values   [in]   tensors, on one device, and others
  static Result<SharedConstants> create(const Host& host, std::vector<Value> values);

  const std::vector<Value>& values() const { return values_; }

  // Returns a result with copies in place of the tensors in the memory of constants, which callers may
  // not write; tensors in arrays among them, each of which is copied once. A result without such
  // tensors is returned itself.
  //
  // env      [in]   of the call that returns it
  // returns  EXHAUSTED  arrays are nested too deeply, or have too many items (VM_DEPTH); codes of
  //                     the device's alloc
  Result<Value> without_constants(const Host& host, Value result, const gantry_env* env) const;

 private:
  struct Range {
    // of the first byte, or a handle
    std::uintptr_t begin;
    std::uint64_t bytes;
  };
  class Copier;

  bool contains(const gantry_tensor& tensor) const;

  std::vector<Value> values_;
  // Of tensors; sorted.
  std::vector<Range> ranges_;
  gantry_device_id device_{};
};

}  // namespace gantry::relax
