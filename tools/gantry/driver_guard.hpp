// SPDX-License-Identifier: Apache-2.0
//
// Opens plugins in child processes before the command opens them, because a driver may abort or
// hang. A plugin whose driver does is excluded, so that the command reports it and goes on.
#pragma once

#include "tools/gantry/isolated_command.hpp"

#include "core/engine/runtime/state.hpp"
#include "core/writing/generator/generators.hpp"

#include <gantry/result.hpp>

#include <chrono>
#include <memory>
#include <vector>

namespace gantry::cli {

// Starting a driver for several GPUs takes up to ten seconds.
constexpr int default_driver_seconds = 60;

// True for a candidate with a library that no check has stopped.
bool can_be_probed(const Candidate& candidate);

// Probes all plugins, also those whose manifests do not require it, unless a verdict is cached.
// Excludes those that ended or blocked their processes, are quarantined, or could not be probed. The
// error of a plugin that refuses is stored as its state.
//
// returns  an error for each excluded plugin; unavailable, reason PROBE_MISSING
// costs    for each plugin without a verdict the start of its driver
Result<std::vector<Error>> probe_all(RuntimeState& runtime);

// Excludes the plugins that cannot list their devices.
//
// globals  [in]   of the runtime
// limit    [in]   time for each plugin
// returns  an error for each excluded plugin; the failures of run_isolated()
// costs    the start of every driver: up to seconds
Result<std::vector<Error>> exclude_failing_drivers(PluginSet& plugins, const Globals& globals,
                                                   std::chrono::milliseconds limit);

// Excludes the plugins whose code generators cannot check this host.
//
// globals  [in]   of the runtime
// limit    [in]   time for each plugin
// returns  an error for each excluded plugin; the failures of run_isolated()
// costs    the start of every driver that a generator requires: up to seconds
Result<std::vector<Error>> exclude_failing_generators(PluginSet& plugins, const Globals& globals,
                                                      std::chrono::milliseconds limit);

// Excludes the plugins that cannot check the payloads of a file.
//
// globals  [in]   of the runtime
// path     [in]   of the artifact
// limit    [in]   time for each payload
// returns  an error for each excluded plugin; the failures of run_isolated()
// costs    those of check_payloads(), once more for each excluded plugin
Result<std::vector<Error>> exclude_failing_checks(RuntimeState& runtime, const Globals& globals,
                                                  const std::string& path, const Artifact& artifact,
                                                  std::chrono::milliseconds limit);

// Prepare the calls in the child processes, see IsolatedWork.
Result<IsolatedCall> list_devices_isolated(const IsolatedCommand& command, const Runtime& runtime);
Result<IsolatedCall> check_generators_isolated(const IsolatedCommand& command,
                                               const Runtime& runtime);
Result<IsolatedCall> check_payloads_isolated(const IsolatedCommand& command,
                                             const Runtime& runtime);

// Reads the generators of a runtime, for check_generator().
class CpuGenerators {
 public:
  explicit CpuGenerators(std::shared_ptr<RuntimeState> runtime);
  CpuGenerators(const CpuGenerators&) = delete;
  CpuGenerators& operator=(const CpuGenerators&) = delete;

  const TargetKinds& kinds() const { return kinds_; }
  const Generators& generators() const { return generators_; }

 private:
  std::shared_ptr<RuntimeState> runtime_;
  TargetKinds kinds_;
  Generators generators_;
};

}  // namespace gantry::cli
