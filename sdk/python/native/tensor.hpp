// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

#include <string>

#include "api.hpp"

namespace gantry::python {

// gantry.Tensor: a tensor of a runtime, on any device.
class Tensor {
 public:
  // value    [in]   GANTRY_TENSOR
  Tensor(RuntimeRef runtime, OwnedValue value)
      : runtime_(std::move(runtime)), value_(std::move(value)) {}

  const gantry_tensor& get() const { return *gantry_value_tensor(&value_.get()); }
  const OwnedValue& value() const { return value_; }
  const RuntimeRef& runtime() const { return runtime_; }
  bool is_on_cpu() const;

 private:
  RuntimeRef runtime_;
  OwnedValue value_;
};

// Returns the name of a device and its index: "opencl:1", "acme_npu:0".
//
// costs    may open the plugin of a device whose number the runtime has assigned
std::string device_name(const RuntimeRef& runtime, gantry_device_id device);

// Adds the class to the module.
void bind_tensor(nanobind::module_& module);

// Returns a tensor as a NumPy array that uses its memory, after a copy to the CPU if the tensor is on
// another device. Returns the tensor itself if NumPy does not have its element type.
nanobind::object numpy_or_tensor(nanobind::object tensor);

}  // namespace gantry::python
