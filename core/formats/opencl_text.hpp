// SPDX-License-Identifier: Apache-2.0
//
// The text of "opencl" payloads with OpenCL C: since v0.8, a line "// Function: <kernel>" before the
// program of each kernel. Loaders split the text at these lines.
#pragma once

#include <gantry/result.hpp>

#include <string>
#include <string_view>

namespace gantry {

// The beginning of the line before a kernel's program; the kernel's name follows.
//
// source   apache/tvm src/runtime/source_utils.cc, src/target/source/codegen_opencl.cc
constexpr std::string_view opencl_marker = "// Function: ";

// Appends the program of a kernel.
//
// name     [in]   of the source, for messages
// returns  UNSUPPORTED  the source does not contain the kernel's name (KERNEL); a line begins with
//                       the marker (KERNEL_BUILD)
Status append_opencl_program(std::string& text, std::string_view kernel, std::string_view name,
                             std::string_view source);

}  // namespace gantry
