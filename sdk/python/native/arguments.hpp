// SPDX-License-Identifier: Apache-2.0
//
// Objects of Python as arguments of calls, and results of calls as objects of Python.
//
//     None, bool, int, float, str, bytes    values
//     arrays                                tensors, borrowed for the call
//     gantry.Tensor, gantry.Object          themselves
//     tuple of integers                     shapes
//     other tuples, list, dict              arrays and maps
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "api.hpp"
#include "array_view.hpp"

namespace gantry::python {

// True for a borrowed array of NumPy's booleans, which have eight bits. Those of compilers up to v0.23
// have one; both are stored in a byte.
bool is_boolean(const gantry_value& value);

// The arguments of one call, in order.
//
// thread   holds the GIL, also when it is destroyed
class Arguments {
 public:
  // max_count [in]  of add()
  // as_objects [in] pass arrays that compiled code can use in place as objects, which a function may
  //                 keep; else all are borrowed
  // no_copies [in]  why arrays with strides are refused, for messages: "which copy=False forbids";
  //                 static; empty: they are copied
  Arguments(RuntimeRef runtime, std::size_t max_count, bool as_objects,
            std::string_view no_copies = {});

  // throws   TypeError: no value has the type; OverflowError: an integer exceeds 64 bits;
  //          gantry.Error, see ArrayView; reason COPY_REQUIRED
  void add(nanobind::handle object);

  // Returns a value that owns what it refers to, without adding it.
  //
  // throws   as add()
  OwnedValue owned(nanobind::handle object);

  // Valid as long as this object.
  gantry_value* values() { return values_.data(); }
  std::size_t count() const { return values_.size(); }
  // True if an argument is an array of NumPy's booleans.
  bool has_booleans() const { return has_booleans_; }
  // Changes the element type of an argument of such booleans. Other arguments are unchanged.
  void set_boolean_dtype(std::size_t index, gantry_dtype dtype);
  // Bytes of arrays that were copied.
  std::uint64_t copied_bytes() const { return copied_bytes_; }

 private:
  bool add_array(nanobind::handle object);
  OwnedValue owned_shape(nanobind::handle tuple);
  // Not inlined: its status is larger than all that a level of nested items needs of the stack.
  [[gnu::noinline]] OwnedValue new_items(std::int32_t kind,
                                         const std::vector<gantry_value>& values) const;
  OwnedValue owned_items(nanobind::handle sequence);
  OwnedValue owned_map(nanobind::handle dict);
  OwnedValue owned_text(std::int32_t kind, std::string_view text);
  OwnedValue foreign(std::unique_ptr<ArrayView> view);
  void check_copy(const ArrayView& view) const;

  RuntimeRef runtime_;
  bool as_objects_;
  std::string_view no_copies_;
  bool has_booleans_ = false;
  std::uint64_t copied_bytes_ = 0;
  std::vector<gantry_value> values_;
  std::vector<OwnedValue> owned_;
  // by argument; NULL: it borrows no array
  std::vector<std::unique_ptr<ArrayView>> views_;
};

enum class ResultForm {
  // NumPy arrays, as numpy_or_tensor() makes them
  arrays,
  // gantry.Tensor
  tensors
};

// Returns a value as an object of Python.
nanobind::object object_of(const RuntimeRef& runtime, OwnedValue value, ResultForm form);

// Adds the class gantry.Object to the module.
void bind_object(nanobind::module_& module);

}  // namespace gantry::python
