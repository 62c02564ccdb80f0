// SPDX-License-Identifier: Apache-2.0
//
// Finds a program as a shell in the working directory of this process does.
#pragma once

#include <gantry/result.hpp>

#include <filesystem>
#include <string>

namespace gantry {

struct ProgramSearch {
  // directories separated by colons, in the form of PATH; an empty one is the working directory
  std::string path = "/usr/local/bin:/usr/bin:/bin";
  // false: a program in a directory of `path` that is not absolute is an error
  bool allow_relative = true;
};

// Returns the absolute path of a program, for a child process with another working directory.
//
// name     [in]   with '/': a path; else a name to search
// returns  unavailable  no such program, with errno ENOENT; SECURE: found in a relative directory
Result<std::filesystem::path> find_program(const std::string& name, const ProgramSearch& search);

// Returns search.path for such a child process: relative directories are made absolute, or omitted
// if they are not allowed. Compilers search it for their parts.
std::string absolute_search_path(const ProgramSearch& search);

}  // namespace gantry
