// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tensor.hpp"

namespace gantry::python {

// Tensor.__dlpack__: returns a capsule whose tensor keeps the tensor of the runtime.
//
// stream   [in]   None or an integer; the work that produces the tensor is complete on return, so any
//                 stream may use it
// throws   BufferError: another device, or a copy, is requested
nanobind::object dlpack_export(const Tensor& tensor, const nanobind::object& stream,
                               const nanobind::object& max_version, const nanobind::object& device,
                               const nanobind::object& copy);

// Tensor.__dlpack_device__: the device's type and index.
nanobind::tuple dlpack_device(const Tensor& tensor);

}  // namespace gantry::python
