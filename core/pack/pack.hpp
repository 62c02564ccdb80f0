// SPDX-License-Identifier: Apache-2.0
//
// Builds an artifact from a recipe. This project's runtime can load it, and so can TVM v0.8 to
// v0.19.
//
//     recipe -> graph and parameters -> container -> object file --+
//               host code sources ---------------------------------+--> shared library -> output
//
// The container has generation G3, the host code has the packed dialect.
#pragma once

#include "core/base/find_program.hpp"
#include "core/base/input_files.hpp"
#include "core/pack/recipe.hpp"

#include <functional>

namespace gantry {

// Symbol of packed libraries without a container, which have no other mark of a compiler.
constexpr std::string_view packed_mark = "__gantry_packed";

struct PackOptions {
  // a program and its first arguments
  std::vector<std::string> compiler = {"cc"};
  // the same for GLSL
  std::vector<std::string> glslang = {"glslangValidator"};
  // finds both
  ProgramSearch search;
  // Receives a line at the start of each step: "compiling 3 sources".
  std::function<void(std::string_view)> progress;
  // further files that the output must not replace
  InputFiles inputs;
  // The directory of temporary files if the output is a stream; else the output's directory is.
  std::filesystem::path temporary = "/tmp";
};

// Writes `output`, a path of OutputFile::open(). After a failure the output is unchanged, and
// nothing is written to a stream; temporary files are always removed. The same recipe and files
// produce the same bytes with the same compilers, in any directory.
//
// returns  not_found    a file, a member, the output's directory or a function that the graph
//                       calls does not exist
//          invalid      parts that do not match; COMPILE_FAILED with a compiler's diagnostics; the
//                       output is the recipe, a file that it names, no ELF file, or a terminal
//          malformed    a file has a wrong format
//          unavailable  a compiler cannot run, the output cannot be written
// costs    seconds for the compilers; memory O(graph) and one compressed parameter in this process,
//          the container in the assembler
Status pack(const Recipe& recipe, const std::filesystem::path& output,
            const PackOptions& options = {});

}  // namespace gantry
