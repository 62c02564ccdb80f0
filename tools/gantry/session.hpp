// SPDX-License-Identifier: Apache-2.0
//
// The runtime of a sub-command, created with the global options.
#pragma once

#include "tools/gantry/command.hpp"

#include "core/base/input_files.hpp"
#include "core/engine/runtime/state.hpp"

#include <gantry/embed.hpp>
#include <gantry/result.hpp>

#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::cli {

// Creates a runtime, which finds plugins and opens none. With --quiet it logs only errors.
Result<Runtime> open_runtime(const Globals& globals, bool trace = false);
// Creates one for a command that loads no artifact, and returns its state.
Result<std::shared_ptr<RuntimeState>> open_state(const Globals& globals);

// The configuration that open_runtime() reads, and further files that a command reads.
InputFiles input_files(const Globals& globals, std::initializer_list<std::string_view> files);

// The numbers of devices by name.
//
// returns  those of Runtime::device
Result<std::vector<gantry_device_id>> device_ids(const Runtime& runtime,
                                                 std::span<const std::string> names);

// Returns what a session's run is called in lines about crashes: "a run of the model".
std::string run_title(const Session& session);

// Waits until the default streams of these devices are idle.
Status synchronize(const Runtime& runtime, std::span<const gantry_device_id> devices);

}  // namespace gantry::cli
