// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gantry/tensor.h>

#include <cstdint>

namespace gantry::python {

// Copies the elements of a tensor in host memory to dense rows.
//
// from     [in]   its strides are ignored
// steps    [in]   ndim numbers: bytes from one element of an axis to the next
// item_bytes [in] bytes of one element
// to       [out]  as many bytes as the elements have
void copy_compact(const gantry_tensor& from, const std::int64_t* steps, std::uint64_t item_bytes,
                  void* to);

}  // namespace gantry::python
