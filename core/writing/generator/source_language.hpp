// SPDX-License-Identifier: Apache-2.0
//
// The language of a source, which its suffix names.
#pragma once

#include <string>
#include <string_view>

namespace gantry {

// Returns "cuda" for .cu, "opencl" for .cl, "glsl" for .comp and .glsl, "spirv" for .spv, and the
// suffix without its point for others.
std::string language_of(std::string_view file);

}  // namespace gantry
