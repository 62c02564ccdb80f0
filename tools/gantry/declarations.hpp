// SPDX-License-Identifier: Apache-2.0
//
// Reads what a library declares about its functions, for `inspect --signatures`. Only its code has
// the texts: a child process loads it and calls it, so that code that ends its process, or never
// returns, ends this one alone.
#pragma once

#include "tools/gantry/isolated_command.hpp"

#include "core/formats/inspect/declared_functions.hpp"

#include <gantry/result.hpp>

#include <string>
#include <vector>

namespace gantry::cli {

// Loads a file as Runtime::load() does and calls its functions that return metadata and doc strings.
// The end of what the code prints, up to 64 KiB, is written to standard error.
//
// globals  [in]   of the runtime
// returns  a function without a text has the reason; those with which the texts would have more than
//          max_declarations_bytes are left out; the failures of Runtime::load(); unavailable: the child
//          process ended or took longer than two minutes
Result<std::vector<FunctionDeclaration>> read_declarations(const std::string& file,
                                                           const Globals& globals);

// Prepares the call in the child process, see IsolatedWork. Its answer is a text of IsolatedOutcome.
Result<IsolatedCall> declare_isolated(const IsolatedCommand& command, const Runtime& runtime);

}  // namespace gantry::cli
