// SPDX-License-Identifier: Apache-2.0
//
// The artifact and the devices of `run` and `bench`. core/engine/runtime/default_devices.hpp chooses the
// devices, as Runtime::model() does; functions of libraries also run on them.
#pragma once

#include <gantry/embed.hpp>
#include <gantry/result.hpp>

#include <span>
#include <string>
#include <vector>

namespace gantry::cli {

// Loads an artifact. If that fails because this host lacks a plugin or driver, the error also
// states which devices the artifact names and which the host has.
//
// options  [in]   without devices
// devices  [in]   of --device
Result<Module> load_model(const Runtime& runtime, const std::string& path, LoadOptions options,
                          const std::vector<std::string>& devices);

// Returns the names of the devices for a model. Reports them on stderr if they are not those of
// --device and not only the CPU.
//
// given    [in]   of --device; empty: the defaults of the model
// quiet    [in]   do not report them
// returns  as model_devices() of the core
Result<std::vector<std::string>> reported_devices(const Runtime& runtime, const Module& model,
                                                  std::span<const std::string> given, bool quiet);

}  // namespace gantry::cli
