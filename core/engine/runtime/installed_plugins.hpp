// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/trace/span.hpp"
#include "core/engine/module/artifact.hpp"
#include "core/engine/runtime/devices.hpp"
#include "core/engine/runtime/payload_check.hpp"
#include "core/formats/payload_layout.hpp"
#include "core/formats/target/generator.hpp"
#include "core/formats/target/target_kinds.hpp"
#include "core/plugins/choice/plugin_set.hpp"
#include "core/plugins/choice/serving_plugins.hpp"
#include "core/plugins/manifest/config_values.hpp"

#include <gantry/result.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gantry {

class Prober;
struct RuntimeState;

// The plugins on this host as a runtime sees them, for tools that are built with the core.
class InstalledPlugins {
 public:
  explicit InstalledPlugins(std::shared_ptr<RuntimeState> state);
  template <class Handle>
  explicit InstalledPlugins(const Handle& runtime) : InstalledPlugins(runtime.state()) {}

  PluginSet& set() const;
  // The built-in layouts and those that manifests declare.
  const PayloadLayouts& layouts() const;
  // Returns the id of the first plugin for a type key that can be opened according to its manifest
  // and its library; nullopt if there is none. Opens no plugin.
  std::optional<std::string> serving(std::string_view type_key);
  // See plugin_options.hpp.
  Result<std::vector<ConfigValue>> options_of(const Manifest& manifest,
                                              std::vector<Message>& warnings) const;
  // The target kinds of the host and of the plugins that can be used according to their manifests,
  // in order of preference.
  TargetKinds target_kinds() const;
  // Opens the code generator of a plugin (gantry/generator.h), which keeps the runtime.
  //
  // plugin   [in]   an id
  // returns  the errors of PluginSet::open(); malformed: the plugin does not have the extension, or
  //          its table is wrong
  Result<Generator> generator(std::string_view plugin) const;
  // Reads a file and its container with these layouts. Loads nothing.
  //
  // returns  errors of opening the file; malformed or unsupported from the ELF and container
  //          readers
  Result<std::shared_ptr<const Artifact>> read_artifact(const std::string& path) const;
  // Probes plugins in child processes, and keeps the verdicts.
  Prober& prober() const;
  // See devices.hpp.
  std::vector<ListedDevice> devices(std::string_view kind, std::vector<Message>& problems) const;
  // See payload_check.hpp.
  std::vector<std::size_t> served_payloads(const Artifact& artifact) const;
  std::vector<PayloadCheck> check_payload(const Artifact& artifact, std::size_t entry) const;
  std::vector<PayloadCheck> check_payloads(const Artifact& artifact) const;
  // The spans recorded so far; empty unless EngineOptions::trace.
  std::vector<TraceEvent> trace_events() const;
  // See payload_text.hpp.
  Result<std::string> payload_text(std::shared_ptr<const Artifact> artifact,
                                   std::size_t entry) const;
  // See config_check.hpp.
  std::vector<std::string> unknown_names() const;
  // Writes them to the runtime's log.
  void warn_of_unknown_names() const;

 private:
  std::shared_ptr<RuntimeState> state_;
  ServingPlugins serving_;
};

}  // namespace gantry
