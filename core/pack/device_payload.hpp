// SPDX-License-Identifier: Apache-2.0
//
// Writer of the payloads that device loaders read: "cuda", "opencl", "hip", "vulkan" and similar
// ones.
//
//     str format | u64 n | n times: str kernel, FunctionInfo | str data
//     FunctionInfo: str name | vec<dtype> arguments | vec<str> launch tags
//                   | generations G4 and G5: vec<i32> argument tags, all 0
//     The name is empty, in G5 the kernel's. Flags of launch tags, types and shaders have the form
//     of the generation, too (payload_form.hpp).
//
//     "cuda" of sources: data is PTX, and the format "ptx"; or the sources, and the format "cuda"
//     "opencl" of sources: data is, for each kernel, a line "// Function: <kernel>" and its program
//     "vulkan" of sources, instead of data: u64 n | n times: str kernel, in G5 u64 size
//     of the rest, u32 0, vec<u32> SPIR-V
#pragma once

#include "core/pack/container.hpp"
#include "core/pack/kernel_compilers.hpp"
#include "core/pack/pieces.hpp"
#include "core/pack/recipe.hpp"

namespace gantry {

// Appends the payload of one device module. Data are read from their files when the pieces are
// written. The payload of a module without a format is its data file.
//
// returns  not_found    a data file or source does not exist; no compiler is known for the type key
//          unavailable  a file cannot be read, or a compiler cannot run or produces no SPIR-V
//          invalid      an OpenCL program without its kernel; COMPILE_FAILED with diagnostics
//          malformed    a shader is damaged, or its bindings and scalars are not those of the recipe
//          unsupported  a launch tag or an element type that the generation lacks
//          the errors of a plugin's generator (generated_payload.hpp)
//          errors of a source include its kernel's location in the recipe
// source   apache/tvm src/runtime/meta_data.h (v0.8 to v0.23), metadata.h (later);
//          src/runtime/source_utils.cc; src/runtime/spirv/spirv_shader.h
Status write_device_payload(const DeviceModuleSource& module, const KernelCompilers& tools,
                            Pieces& out, ContainerForm generation = ContainerForm::g3);

}  // namespace gantry
