// SPDX-License-Identifier: Apache-2.0
//
// The payloads that device loaders read: "cuda", "opencl", "hip" and their like, and "vulkan".
//
//     str format | u64 n | n times: str kernel, FunctionInfo | str data
//     FunctionInfo: str "" | vec<dtype> arguments | vec<str> launch tags
//
//     "opencl" of sources: data is, for each kernel, a line "// Function: <kernel>" and its program
//     "vulkan" of sources, instead of data: u64 n | n times: str kernel, u32 0, vec<u32> SPIR-V
#pragma once

#include "core/pack/pieces.hpp"
#include "core/pack/recipe.hpp"

namespace gantry {

// What compiles GLSL.
struct ShaderTools {
  // a program, looked up in PATH, and words to give it first
  std::vector<std::string> glslang;
  // sources are relative to it
  std::filesystem::path directory;
  // where SPIR-V is written; stays out of the bytes
  std::filesystem::path scratch;
};

// Appends the payload of one device module; data stay in their files until the pieces are written. A module
// without a format is its file.
//
// returns  not_found, unavailable: the data file, a source
//          invalid      an OpenCL program that is not its kernel's; COMPILE_FAILED with glslang's diagnostics
//          unavailable  glslang cannot run, or makes no SPIR-V
//          all that concern a source, with its kernel's place in the recipe
// source   apache/tvm src/runtime/meta_data.h (v0.8 to v0.20), where FunctionInfo's name is empty;
//          src/runtime/source_utils.cc; src/runtime/spirv/spirv_shader.h (v0.8 to v0.23)
Status write_device_payload(const DeviceModuleSource& module, const ShaderTools& tools,
                            Pieces& out);

}  // namespace gantry
