// SPDX-License-Identifier: Apache-2.0
//
// From a recipe to an artifact that this project's runtime, and TVM v0.8 to v0.19, can load.
//
//     recipe -> graph and parameters -> container -> object file --+
//               host code sources ---------------------------------+--> shared library -> its place
//
// The container is of generation G3, the host code of the packed dialect.
#pragma once

#include "core/pack/recipe.hpp"

#include <functional>

namespace gantry {

struct PackOptions {
  std::vector<std::string> compiler = {
      // a program, looked up in PATH, and words to give it first
      "cc"};
  // likewise
  std::vector<std::string> glslang = {"glslangValidator"};
  // What happens next, in the words of a progress line: "compiling 3 sources".
  std::function<void(std::string_view)> progress;
};

// Writes `output`, which appears whole or stays as it was; nothing else is left behind.
//
// returns  not_found    a file, a member, the output's directory, or a function that the graph calls
//          invalid      parts that do not fit together; COMPILE_FAILED with a compiler's diagnostics
//          malformed    a file that is not what it should be
//          unavailable  a compiler cannot run, the disk cannot be written
// note     the same recipe and files give the same bytes, wherever they lie, with the same compilers
// costs    seconds, the compilers'; memory O(graph) and one compressed parameter here, the container in the assembler
Status pack(const Recipe& recipe, const std::filesystem::path& output,
            const PackOptions& options = {});

}  // namespace gantry
