// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gantry/result.hpp>

#include <cstddef>
#include <memory>
#include <string>

namespace gantry {

struct Artifact;
struct RuntimeState;

// Returns the code of a module as text, which its function `as_text` returns. Loads the payload with
// the plugin that serves its type key, which opens that plugin; executes nothing of the file, whose
// library is not opened.
//
// artifact [in]   its container is read
// entry    [in]   index of a module with a payload
// returns  unavailable, reason NO_PLUGIN; the error of the plugin; not_found: the module has no such
//          function
Result<std::string> payload_text(RuntimeState& state, std::shared_ptr<const Artifact> artifact,
                                 std::size_t entry);

}  // namespace gantry
