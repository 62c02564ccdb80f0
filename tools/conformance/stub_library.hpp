// SPDX-License-Identifier: Apache-2.0
//
// A shared library with a name and without symbols: a driver that lacks every function.
#pragma once

#include <gantry/result.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

namespace gantry::kit {

// Returns an ELF file of this machine with that DT_SONAME.
std::vector<std::uint8_t> stub_library(std::string_view soname);

// Opens such a library for the life of the process. The linker then finds it under its name instead
// of a file.
//
// returns  not_run() if a library of that name is open, or the stub cannot be opened
Status open_stub_library(std::string_view soname);

}  // namespace gantry::kit
