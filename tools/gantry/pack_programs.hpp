// SPDX-License-Identifier: Apache-2.0
//
// The programs that `gantry pack` starts, as the environment of the caller names and finds them.
#pragma once

#include "core/writing/pack.hpp"

namespace gantry::cli {

// Returns options with the compilers, their search and the directory of temporary files.
PackOptions options_of_environment();

}  // namespace gantry::cli
