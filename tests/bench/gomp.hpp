// SPDX-License-Identifier: Apache-2.0
//
// libgomp as the peer of the runtime's thread pool.
#pragma once

#include <filesystem>

namespace gantry::bench {

// Opens a library that no runtime has opened, and sets its variables so that its parallel regions
// run on libgomp with two threads.
//
// throws   Failed if it has no parallel regions
void run_on_gomp(const std::filesystem::path& library);

}  // namespace gantry::bench
