// SPDX-License-Identifier: Apache-2.0
//
// Runs compilers, without a shell: the system's C compiler, to make a shared library of sources and a container.
#pragma once

#include <gantry/result.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace gantry {

struct LinkJob {
  std::vector<std::string> compiler = {
      // a program, looked up in PATH, and words to give it first
      "cc"};
  // where it works: paths in `sources` and `flags` are relative to it
  std::filesystem::path directory;
  // where its own files are; stays out of the bytes, as does `directory`
  std::filesystem::path scratch;
  // whatever the compiler knows by suffix
  std::vector<std::string> sources;
  // before the sources, after ours: they win
  std::vector<std::string> flags;
  // after the sources: "-lm"
  std::vector<std::string> libraries;
  std::filesystem::path output;
};

// Runs a compiler to its end.
//
// what     [in]   for messages: "C compiler"
// words    [in]   the program and its arguments
// directory   [in]   where it works
// returns  as link_library()
Status run_compiler(std::string_view what, const std::vector<std::string>& words,
                    const std::filesystem::path& directory);

// Compiles and links in one run: -shared -fPIC -O2. The same input gives the same bytes.
//
// returns  unavailable  the compiler cannot be started, or is ended by a signal
//          invalid      COMPILE_FAILED: it ends with another status than 0; its diagnostics, up to 16 KiB, follow
//                       line by line
// costs    seconds; the compiler inherits the process' environment as it is
Status link_library(const LinkJob& job);

}  // namespace gantry
