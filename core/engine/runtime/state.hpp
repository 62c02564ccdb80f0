// SPDX-License-Identifier: Apache-2.0
//
// The state of one runtime. core/decisions/0001-life-of-a-runtime.md defines what keeps it alive.
//
//     configuration, environment -> manifests -> plugins, opened when needed -> devices, loaders
//     pool, workspaces, globals  -> used by compiled CPU code
#pragma once

#include "core/base/log.hpp"
#include "core/base/trace/span.hpp"
#include "core/engine/module/artifact.hpp"
#include "core/engine/module/global_functions.hpp"
#include "core/engine/native/context.hpp"
#include "core/engine/native/thread_pool.hpp"
#include "core/engine/native/workspace.hpp"
#include "core/engine/runtime/config.hpp"
#include "core/engine/runtime/environment.hpp"
#include "core/engine/runtime/host_table.hpp"
#include "core/engine/runtime/link_cache.hpp"
#include "core/engine/runtime/loaded_file.hpp"
#include "core/engine/runtime/options.hpp"
#include "core/engine/runtime/plugin_instance.hpp"
#include "core/engine/tensor/device_set.hpp"
#include "core/formats/payload_layout.hpp"
#include "core/plugins/choice/plugin_set.hpp"
#include "core/plugins/library/table_copy.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace gantry {

class Prober;

// Returns the ABI range and version of this core, for plugins.
const gantry_host_info& core_info();

struct RuntimeState : std::enable_shared_from_this<RuntimeState> {
  // Finds and parses the manifests; opens no plugin.
  static Result<std::shared_ptr<RuntimeState>> create(EngineOptions options);
  RuntimeState(EngineOptions given, Config read, Environment found);
  ~RuntimeState();
  RuntimeState(const RuntimeState&) = delete;
  RuntimeState& operator=(const RuntimeState&) = delete;

  // Returns a pin for objects that may outlive the handle.
  Pin life() { return shared_from_this(); }
  // Checks that this process has created the runtime.
  //
  // returns  unavailable, reason PROCESS_FORKED
  // costs    one load
  Status check_process() const;
  // Returns an artifact without a file that keeps this runtime alive.
  Artifact new_artifact() { return {life(), globals, trace.get()}; }

  // Returns the device of a number or name. Opens its plugin if necessary.
  //
  // returns  not_found, listing the devices; unavailable, reason NO_PLUGIN; the plugin's own error
  Result<std::shared_ptr<const Device>> device(std::int32_t type);
  Result<std::shared_ptr<const Device>> device(std::string_view kind);

  // fork_count() when it was created
  const unsigned forks;
  const EngineOptions options;
  const Config config;
  const Environment environment;
  // empty: no cache
  const std::string cache_directory;
  const Log log;
  // NULL: nothing is recorded
  const std::unique_ptr<TraceRecorder> trace;
  // The number of the work that a plugin announced last.
  std::atomic<std::uint64_t> last_work{0};

  DeviceSet devices;
  const std::shared_ptr<GlobalFunctions> globals;
  Workspaces workspaces;
  // its own, or one that it shares with other runtimes
  const std::shared_ptr<ThreadPool> pool;
  HostServices host;
  // the built-in layouts and those that manifests declare
  PayloadLayouts layouts;
  TableCopies<gantry_module_table> tables;
  TableCopies<gantry_model> models;
  TableCopies<gantry_executor_table> executors;
  LoadedFiles files;
  // of objects and sources that are loaded
  const LinkCache links;
  std::unique_ptr<Prober> prober;
  // for the program that embeds the runtime
  PluginHost program;
  // last member, because its plugins must be destroyed first
  std::unique_ptr<PluginSet> plugins;
};

// The runtime that loaded or created an artifact.
inline std::shared_ptr<RuntimeState> state_of(const Artifact& artifact) {
  // RuntimeState::life()
  return std::static_pointer_cast<RuntimeState>(std::const_pointer_cast<void>(artifact.runtime));
}

}  // namespace gantry
