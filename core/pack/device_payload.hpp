// SPDX-License-Identifier: Apache-2.0
//
// The payload that device loaders share: "cuda", "opencl", "hip" and their like.
//
//     str format | u64 n | n times: str kernel, FunctionInfo | str data
//     FunctionInfo: str "" | vec<dtype> arguments | vec<str> launch tags
#pragma once

#include "core/pack/pieces.hpp"
#include "core/pack/recipe.hpp"

namespace gantry {

// Appends the payload of one device module; the data stay in their file until the pieces are written. A module
// without a format is its file.
//
// returns  not_found, unavailable: the data file; invalid: two kernels of one name
// source   apache/tvm src/runtime/meta_data.h (v0.8 to v0.20), where FunctionInfo's name is empty
Status write_device_payload(const DeviceModuleSource& module, Pieces& out);

}  // namespace gantry
