// SPDX-License-Identifier: Apache-2.0
//
// The devices on which `run` and `bench` execute an artifact: those of --device, otherwise those
// that the artifact names, otherwise the CPU.
//
// An artifact names a device in its graph, or with the type key of a module that a plugin with
// devices serves.
#pragma once

#include <gantry/runtime.hpp>

#include <gantry/result.hpp>

#include <string>
#include <vector>

namespace gantry::cli {

// Loads an artifact. If that fails because this host lacks a plugin or driver, the error also
// states which devices the artifact names and which the host has.
Result<Module> load_model(Runtime& runtime, const std::string& path,
                          const LoadOptions& options = {});

struct DeviceOptions {
  // of --device
  std::vector<std::string> names;
  // do not report the chosen devices
  bool quiet = false;
  // use the CPU if this host lacks the device of a module
  bool allow_missing = false;
};

// Returns the names of the devices for a model, all of which exist. Reports them on stderr if they
// are not those of --device and not only the CPU.
//
// returns  not_found, unavailable  the host lacks a device; the error lists those that it has
//          invalid      --device lacks a device that the graph names
Result<std::vector<std::string>> choose_devices(Runtime& runtime, const Module& model,
                                                const DeviceOptions& options);

}  // namespace gantry::cli
