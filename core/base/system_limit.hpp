// SPDX-License-Identifier: Apache-2.0
//
// Errors of system calls that mean that a limit of the process or of the host is reached.
#pragma once

#include <gantry/error.hpp>

#include <string>
#include <string_view>

namespace gantry {

// The end of every error about the limit of open files: what to do.
constexpr std::string_view open_files_remedy = "; raise the limit of open files (ulimit -n)";

// Returns exhausted if a number of errno means that no descriptor, memory or space is left, else
// unavailable.
Code code_of_errno(int number);

// Returns the system's text, for the limit of open files with open_files_remedy.
std::string text_of_errno(int number);

// True if a message of the system's linker states that no descriptor is left.
bool states_open_files(std::string_view message);

}  // namespace gantry
