// SPDX-License-Identifier: Apache-2.0
//
// What the built-in generators do. Programs run in the directory of the tools and open the sources
// by their names; diagnostics of one that fails are those of the build.
//
//     "cuda", "opencl"     str format | kernel table | str data
//     "vulkan"             str "vulkan" | kernel table | u64 n | n times: str kernel, u32 0,
//                          vec<u32> SPIR-V
//     CPU code            a shared library
//
// source   apache/tvm src/runtime/meta_data.h (v0.8 to v0.23), metadata.h (later);
//          src/runtime/source_utils.cc; src/runtime/spirv/spirv_shader.h
#pragma once

#include "core/writing/generator/generator_tools.hpp"

#include <gantry/generator.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace gantry {

// Compiles and links sources of any language that the compiler recognizes by suffix, with
// -shared -fPIC -O2.
//
// returns  the failures of link_library(); not_found: the compiler writes no file
Status build_library(const GeneratorTools& tools, const Build& what, const Sink& sink);

// Compiles CUDA C++ with nvcc to PTX, for sm_75 if the target has no architecture.
//
// returns  the failures of run_compiler(); unsupported: the PTX does not have a kernel
//          (KERNEL); invalid: the architecture is none, or the path of a source cannot be included
Status build_ptx(const GeneratorTools& tools, const Build& what, const Sink& sink);

// Stores CUDA C++ as one text, in which #line keeps the files and lines of diagnostics.
Status build_cuda_source(const GeneratorTools& tools, const Build& what, const Sink& sink);

// Stores the OpenCL C of each kernel as a program of its own, see core/formats/opencl_text.hpp.
//
// returns  the failures of append_opencl_program()
Status build_opencl_source(const GeneratorTools& tools, const Build& what, const Sink& sink);

// Stores the SPIR-V of each kernel: a source in that language, else what glslang makes of GLSL.
//
// returns  the failures of run_compiler(); unavailable: the result is not SPIR-V; malformed: a
//          shader is damaged, or its bindings and scalars are not those of the kernel; invalid: the
//          entry point does not have the kernel's name
Status build_shaders(const GeneratorTools& tools, const Build& what, const Sink& sink);

// Runs a program for a build.
//
// subject  [in]   for messages: "GLSL compiler"
// words    [in]   the program and its arguments
// returns  the failures of run_compiler()
Status run_for(const Build& what, std::string_view subject, const std::vector<std::string>& words,
               const GeneratorTools& tools);

}  // namespace gantry
