// SPDX-License-Identifier: Apache-2.0
//
// Writer of the payloads that device loaders read: "cuda", "opencl", "hip", "vulkan" and similar
// ones.
//
//     str format | u64 n | n times: str kernel, FunctionInfo | str data
//     FunctionInfo: str name | vec<dtype> arguments | vec<str> launch tags
//                   | generations G4 and G5: vec<i32> argument tags, all 0
//     The name is empty, in G5 the kernel's. Flags of launch tags, types and shaders have the form
//     of the generation, too (core/formats/generation.hpp).
//
// The payloads of sources are built by generators (core/writing/generator).
#pragma once

#include "core/writing/container.hpp"
#include "core/writing/generator/generators.hpp"
#include "core/writing/pieces.hpp"
#include "core/writing/recipe.hpp"

namespace gantry {

// Appends the payload of one device module. Data are read from their files when the pieces are
// written. The payload of a module without a format is its data file.
//
// returns  not_found    a data file or source does not exist
//          unavailable  a file cannot be read
//          unsupported  a launch tag or an element type that the generation lacks
//          the failures of build_payload(); a kernel's include its location in the recipe
// source   apache/tvm src/runtime/meta_data.h (v0.8 to v0.23), metadata.h (later)
Status write_device_payload(const DeviceModuleSource& module, const Generators& generators,
                            Pieces& out, Generation generation = Generation::g3);

}  // namespace gantry
