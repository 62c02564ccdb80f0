// SPDX-License-Identifier: Apache-2.0
//
// Runs compilers without a shell, and builds a shared library from sources and a container with the
// system's C compiler.
#pragma once

#include "core/base/find_program.hpp"

#include <gantry/result.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace gantry {

struct LinkJob {
  // a program and its first arguments
  std::vector<std::string> compiler = {"cc"};
  // the compiler's working directory: base of relative paths in `sources` and `flags`
  std::filesystem::path directory;
  // directory of temporary files, also of the compiler; neither its path nor `directory` affects
  // the output
  std::filesystem::path scratch;
  // files of any language that the compiler recognizes by suffix
  std::vector<std::string> sources;
  // placed before the sources and after the default flags, which they override
  std::vector<std::string> flags;
  // placed after the sources: "-lm"
  std::vector<std::string> libraries;
  std::filesystem::path output;
  // finds the compiler
  ProgramSearch search;
};

// How a compiler runs.
struct CompilerRun {
  // its working directory
  std::filesystem::path directory;
  // of its temporary files, which another user must not replace
  std::filesystem::path scratch;
  // finds the program
  ProgramSearch search;
};

// Runs a compiler and waits for it.
//
// what       [in]   for messages: "C compiler"
// words      [in]   the program and its arguments
// log        [out]  after a failure: receives the diagnostics, which the error then lacks; may be
//                   NULL
// returns    the failures of link_library()
Status run_compiler(std::string_view what, const std::vector<std::string>& words,
                    const CompilerRun& run, std::string* log = nullptr);

// Compiles and links in one run with -shared -fPIC -O2 and a stack that is not executable. Equal input produces equal bytes. The
// compiler inherits the environment of the process.
//
// log      [out]  as for run_compiler()
// returns  unavailable  the compiler cannot be started, or is terminated by a signal
//          invalid      COMPILE_FAILED: it exits with a status other than 0; the text contains up
//                       to 16 KiB of its diagnostics
// costs    seconds
Status link_library(const LinkJob& job, std::string* log = nullptr);

}  // namespace gantry
