// SPDX-License-Identifier: Apache-2.0
//
// Finds the program gantry-probe. PATH is not searched: the program belongs to this core.
#pragma once

#include <string>
#include <vector>

namespace gantry {

struct ProbeProgram {
  // absolute path; empty: not found
  std::string path;
  // where it was searched
  std::vector<std::string> searched;
};

// Searches libexec/gantry beside the directory of the core's library, which is bin, lib or tests of a
// prefix, a build tree or the Python package, and beside its parent, which is lib where libraries are in
// lib/<architecture>.
//
// library_directory  [in]  empty: nothing is searched
ProbeProgram find_probe(const std::string& library_directory);

}  // namespace gantry
