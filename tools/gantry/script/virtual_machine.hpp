// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gantry/runtime.hpp>

#include <gantry/result.hpp>

#include <span>
#include <string>

namespace gantry::cli {

// Creates a virtual machine that runs the executable of a module.
//
// devices  [in]   at least one; code runs on the first one
// returns  not_found: the module has no executable; the error of the plugin that creates it
Result<Module> create_machine(Runtime& runtime, const Module& module,
                              std::span<const std::string> devices);

}  // namespace gantry::cli
