// SPDX-License-Identifier: Apache-2.0
//
// Values that pass between this runtime and a library with tvm-ffi's C++ headers. The library creates
// objects with code of its own, and reads those of the runtime by their layout.
//
//     to a library     tensors get strides
//     from a library   functions, tensors and maps in blocks become objects of this runtime that keep
//                      those of the library, also in arrays and maps; others stay as they are
//
// A List or Dict stays the library's own object, because it is changed in place.
#pragma once

#include "core/engine/native/context.hpp"
#include "core/engine/native/packed/packed_values.hpp"
#include "core/engine/tensor/object.hpp"

#include <gantry/value.h>
#include <gantry/result.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace gantry::ffi {

// TVMFFISafeCallType
using SafeCall = int (*)(void* self, const gantry_value* args, std::int32_t count,
                         gantry_value* result);

// tvm-ffi's FunctionObj.
struct FunctionCell {
  gantry_object header;
  SafeCall safe_call;
  void* cpp_call;
};

// Creates a function object that calls code of a library.
//
// self     [in]   its first argument; NULL without `destroy`: the function object
// destroy  [in]   of self; may be NULL
// owner    [in]   of the library, see CpuOwner
// returns  exhausted; self is then the caller's
Result<Ref<FunctionObject>> new_library_function(void* self, SafeCall call, void (*destroy)(void*),
                                                 const CpuOwner& owner);

// True for a value that refers to no code of a library: a text or tensor of this runtime, or a function
// that no library has created.
//
// value    [in]   of from_library(), or one that needs no conversion
bool is_plain(const gantry_value& value);

// The arguments of a call to a library. A view of the list, or of a copy with changed values.
class LibraryArguments {
 public:
  // list     [in]   must outlive this object
  explicit LibraryArguments(std::span<const gantry_value> list) : list_(list) {}
  // returns  exhausted
  Status prepare();
  const gantry_value* data() const { return list_.data(); }

 private:
  Status borrowed_tensor(std::size_t i);

  std::span<const gantry_value> list_;
  std::vector<gantry_value> values_;
  // of borrowed tensors
  std::vector<std::pair<gantry_tensor, std::vector<std::int64_t>>> tensors_;
};

// Makes the strides of all tensors in a value explicit.
//
// costs    O(items), each array and map once
void set_strides_in(const gantry_value& value);

// Converts a value that a library returns or passes as an argument.
//
// value    [in]   owned; a borrowed tensor or text stays as it is
// returns  unsupported  a module of the library, or values nested too deep (HOST_RESULT); exhausted
Result<Value> from_library(Value value, const CpuOwner& owner);

// The arguments with which a library calls a function.
class ArgumentsOfLibrary {
 public:
  explicit ArgumentsOfLibrary(std::span<const gantry_value> list) : list_(list) {}
  // Moves the objects out of arguments by reference (kind 10).
  //
  // returns  as from_library()
  Status convert(const CpuOwner& owner);
  std::span<const gantry_value> get() const { return list_; }

 private:
  std::span<const gantry_value> list_;
  std::vector<gantry_value> values_;
  std::vector<Value> owned_;
};

// The kind of an argument that is a reference to an object that the callee may move.
constexpr std::int32_t kMovable = 10;
// Takes the object out of an argument of kind kMovable.
//
// returns  invalid: it was moved before
Result<Value> moved(const gantry_value& argument);

}  // namespace gantry::ffi
