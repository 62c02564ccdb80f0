// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "arguments.hpp"
#include "array_view.hpp"

namespace gantry::python {

// The outputs of one run: arrays of the caller that are filled, and new objects.
//
// thread   holds the GIL, also when it is destroyed
class Outputs {
 public:
  // targets  [in]   a tuple of arrays, gantry.Tensor and None; or None: all outputs are new
  // throws   TypeError: no array; gantry.Error, see ArrayView::write()
  Outputs(const nanobind::object& targets, const RuntimeRef& runtime);
  Outputs(const Outputs&) = delete;
  Outputs& operator=(const Outputs&) = delete;
  ~Outputs();

  // For gantry_run. NULL if all outputs are new.
  gantry_value* values() { return values_.empty() ? nullptr : values_.data(); }
  std::uint32_t count() const { return static_cast<std::uint32_t>(values_.size()); }

  // True if a target is an array of NumPy's booleans.
  bool has_booleans() const;
  // Changes the element type of a target of such booleans. Other targets are unchanged.
  void set_boolean_dtype(std::size_t index, gantry_dtype dtype);

  // Returns the outputs after a run: the arrays of the caller, and the new objects.
  //
  // count    [in]   of the function
  nanobind::object objects(const RuntimeRef& runtime, std::uint32_t count, ResultForm form);

 private:
  std::vector<nanobind::object> targets_;
  std::vector<gantry_value> values_;
  std::unique_ptr<ArrayView[]> views_;
};

}  // namespace gantry::python
