// SPDX-License-Identifier: Apache-2.0
//
// Records the environment variables that a library reads with getenv(), which this program defines
// for all libraries.
#pragma once

#include <string>
#include <vector>

namespace gantry::kit {

// Records the calls from the library that contains `address` from now on. Its path must not change.
void record_environment_reads_of(const void* address);
// Returns the names, in the order of their first use.
std::vector<std::string> environment_reads();

}  // namespace gantry::kit
