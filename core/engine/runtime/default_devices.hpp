// SPDX-License-Identifier: Apache-2.0
//
// The devices of a model: those that the caller names, else those that it states, else those that
// its modules imply, else the CPU.
//
// Numbers are compared, not names. Number 12 of an artifact, ext_dev, is the device of the modules
// that the artifact has, to which the runtime assigned a number; without such a module, a device
// with the number 12, else the first one by name of those with an assigned number.
#pragma once

#include "core/engine/module/module.hpp"
#include "core/plugins/choice/plugin_set.hpp"

#include <gantry/result.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

struct RuntimeState;

// The devices of a model if the caller names none.
struct DefaultDevices {
  // The CPU last: "opencl", "npu:1", "cpu"; "ext_dev" for number 12. At least one.
  std::vector<std::string> names;
  // True if the model states them: it runs on no other device. False if type keys of modules imply
  // them.
  bool are_stated = false;
  // The devices of which the model needs one, `names` is the first of them; empty: it needs all of
  // `names`
  std::vector<std::string> alternatives = {};
};

// Returns the devices that run the modules of an artifact, else the CPU. Opens no plugin.
DefaultDevices implied_devices(const Artifact& artifact, const PluginSet& plugins);

// Returns the devices that the models of a module state, else the implied ones.
//
// returns  the errors of plugins that read a model
Result<DefaultDevices> default_devices(RuntimeState& state, ModuleNode& module);

// The devices on which a model will run, as far as a load can determine them.
struct UsedDevices {
  // "opencl", "npu:1"; empty: the model states none, any may be used
  std::vector<std::string> names;

  // Returns whether modules of a type key are kernels, by the table of type keys, that run on none of
  // the devices. False for kernels whose device has no name.
  bool exclude(std::string_view type_key, const PluginSet& plugins) const;
};

// Returns the devices that the caller names, else those that the models of a module state, of
// alternatives the first.
//
// named    [in]   empty: the caller names none
// returns  the errors of plugins that read a model
Result<UsedDevices> used_devices(RuntimeState& state, ModuleNode& module,
                                 std::span<const std::string> named);

// The same from the bytes of a file that is not loaded, for models whose executors are in the table of type
// keys. Opens no plugin.
UsedDevices read_used_devices(const Artifact& artifact);

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

// Returns the names of the devices for the model of a module, all of which exist. Modules that are
// missing by permission make no difference.
//
// returns  not_found, unavailable  the host lacks a device; the error lists those that it has
//          invalid      the caller does not name a device that the model states (DEVICE)
//          unavailable, reason MODULE_UNBOUND  the load has left out the kernels of a device
//          others       as default_devices()
// costs    opens the plugins of the devices
Result<std::vector<std::string>> model_devices(RuntimeState& state, ModuleNode& module,
                                               const NamedDevices& named);

}  // namespace gantry
