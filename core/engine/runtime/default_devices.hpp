// SPDX-License-Identifier: Apache-2.0
//
// The devices of a model: those that the caller names, else those that the artifact states, else
// those that its modules imply, else the CPU.
#pragma once

#include "core/engine/module/artifact.hpp"
#include "core/plugins/choice/plugin_set.hpp"

#include <gantry/result.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

struct RuntimeState;

// The devices of an artifact if the caller names none.
struct DefaultDevices {
  // Kinds, the CPU last: "opencl", "cpu". At least one.
  std::vector<std::string> kinds;
  // True if a graph, a Relay executable or code compiled ahead of time states them: it runs on no
  // other device. False if type keys of modules imply them.
  bool are_stated = false;
};

// Returns the devices that the artifact states, else those that run its modules, else the CPU. Opens
// no plugin.
DefaultDevices default_devices(const Artifact& artifact, const PluginSet& plugins);

// Returns the line for an artifact whose default devices this host lacks: "model.so" is made for cuda;
// this host has: cpu.
std::string made_for_text(RuntimeState& state, const Artifact& artifact,
                          const DefaultDevices& defaults);

// The devices that a caller names.
struct NamedDevices {
  // "cpu", "opencl:1"; empty: the defaults
  std::span<const std::string> names;
  // what names them, for messages: "--device"
  std::string_view source;
};

// Returns the names of the devices for a model, all of which exist. Modules that are missing make no
// difference.
//
// returns  not_found, unavailable  the host lacks a device; the error lists those that it has
//          invalid      the caller does not name a device that the artifact states (DEVICE)
// costs    opens the plugins of the devices
Result<std::vector<std::string>> model_devices(RuntimeState& state, const Artifact& artifact,
                                               const NamedDevices& named);

}  // namespace gantry
