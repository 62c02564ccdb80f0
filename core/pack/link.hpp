// SPDX-License-Identifier: Apache-2.0
//
// Runs the system's C compiler, without a shell, to make a shared library of sources and a container.
#pragma once

#include <gantry/result.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace gantry {

struct LinkJob {
  std::vector<std::string> compiler = {
      "cc"};                     // a program, looked up in PATH, and words to give it first
  std::filesystem::path folder;  // where it works; its own files go there
  std::vector<std::string>
      sources;  // any that the compiler knows by suffix: absolute, or in `folder`
  std::vector<std::string> flags;      // before the sources, after ours: they win
  std::vector<std::string> libraries;  // after the sources: "-lm"
  std::string output;                  // in `folder`
};

// Compiles and links in one run: -shared -fPIC -O2.  The same input gives the same bytes: the folder's name stays
// out of them.
//
// returns  unavailable  the compiler cannot be started, or is ended by a signal
//          invalid      COMPILE_FAILED: it ends with another status than 0; its diagnostics, up to 16 KiB, follow
//                       line by line
// costs    seconds; the compiler inherits the process' environment as it is
Status link_library(const LinkJob& job);

}  // namespace gantry
