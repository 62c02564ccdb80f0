// SPDX-License-Identifier: Apache-2.0
//
// The text about functions that a file looks up by name, for `inspect` and `doctor`.
#pragma once

#include "tools/gantry/common/terminal.hpp"
#include "tools/gantry/common/text_sink.hpp"

#include "core/formats/inspect/required_functions.hpp"

#include <span>

namespace gantry::cli {

// Writes those that nothing has, by what to do.
void write_unavailable(std::span<const RequiredFunction> functions, const Terminal& terminal,
                       const TextSink& sink);
// Writes the others, by what has them.
void write_available(std::span<const RequiredFunction> functions, const TextSink& sink);

}  // namespace gantry::cli
