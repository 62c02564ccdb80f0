// SPDX-License-Identifier: Apache-2.0
//
// What the built-in generators run with.
#pragma once

#include "core/base/find_program.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace gantry {

// Compilers, each a program and its first arguments.
struct GeneratorPrograms {
  // of CPU code
  std::vector<std::string> compiler = {"cc"};
  // of GLSL
  std::vector<std::string> glslang = {"glslangValidator"};
  // of CUDA C++
  std::vector<std::string> nvcc = {"nvcc"};
  // finds them
  ProgramSearch search = {};
};

struct GeneratorTools {
  GeneratorPrograms programs = {};
  // working directory of the programs: base of the names of sources, which they open
  std::filesystem::path directory = {};
  // directory of temporary files; its path does not affect the payload
  std::filesystem::path scratch = {};
  // of CPU code, as in LinkJob
  std::vector<std::string> flags = {}, libraries = {};
};

}  // namespace gantry
