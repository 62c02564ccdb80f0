// SPDX-License-Identifier: Apache-2.0
//
// The programs that pack() starts to compile kernels; a test compares pack() with this list. They are
// no generators of plugins: they run in the recipe's directory, and such kernels are packed where no
// plugin is installed.
#pragma once

#include "core/pack/pack.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gantry {

struct KernelProgram {
  // of the payloads, and name of the target kind: "vulkan"
  std::string_view type_key;
  // of the sources
  std::string_view language;
  // a name or a path, see find_program()
  std::string program;
};

inline std::vector<KernelProgram> kernel_programs(const PackOptions& options) {
  return {{"cuda", "cuda", options.nvcc.front()}, {"vulkan", "glsl", options.glslang.front()}};
}

}  // namespace gantry
