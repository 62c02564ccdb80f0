// SPDX-License-Identifier: Apache-2.0
#include "core/engine/runtime/installed_plugins.hpp"

#include "core/engine/runtime/artifact_file.hpp"
#include "core/engine/runtime/config_check.hpp"
#include "core/engine/runtime/devices.hpp"
#include "core/engine/runtime/payload_text.hpp"
#include "core/engine/runtime/plugin_generators.hpp"
#include "core/engine/runtime/plugin_options.hpp"
#include "core/engine/runtime/state.hpp"

#include <utility>

namespace gantry {

InstalledPlugins::InstalledPlugins(std::shared_ptr<RuntimeState> state)
    : state_(std::move(state)), serving_(*state_->plugins) {}

PluginSet& InstalledPlugins::set() const { return *state_->plugins; }

Prober& InstalledPlugins::prober() const { return *state_->prober; }

const PayloadLayouts& InstalledPlugins::layouts() const { return state_->layouts; }

std::optional<std::string> InstalledPlugins::serving(std::string_view type_key) {
  return serving_.id_for(type_key);
}

Result<std::vector<ConfigValue>> InstalledPlugins::options_of(
    const Manifest& manifest, std::vector<Message>& warnings) const {
  return plugin_options(*state_, manifest, warnings);
}

Result<Generator> InstalledPlugins::generator(std::string_view plugin) const {
  return plugin_generator(*state_, plugin);
}

TargetKinds InstalledPlugins::target_kinds() const { return gantry::target_kinds(set()); }

Result<std::shared_ptr<const Artifact>> InstalledPlugins::read_artifact(
    const std::string& path) const {
  return gantry::read_artifact(*state_, path);
}

std::vector<ListedDevice> InstalledPlugins::devices(std::string_view kind,
                                                    std::vector<Message>& problems) const {
  return list_devices(*state_, kind, problems);
}

std::vector<std::size_t> InstalledPlugins::served_payloads(const Artifact& artifact) const {
  return gantry::served_payloads(*state_, artifact);
}

std::vector<PayloadCheck> InstalledPlugins::check_payload(const Artifact& artifact,
                                                          std::size_t entry) const {
  return gantry::check_payload(*state_, artifact, entry);
}

std::vector<PayloadCheck> InstalledPlugins::check_payloads(const Artifact& artifact) const {
  return gantry::check_payloads(*state_, artifact);
}

std::vector<TraceEvent> InstalledPlugins::trace_events() const {
  return state_->trace != nullptr ? state_->trace->events() : std::vector<TraceEvent>();
}

Result<std::string> InstalledPlugins::payload_text(std::shared_ptr<const Artifact> artifact,
                                                   std::size_t entry) const {
  return gantry::payload_text(*state_, std::move(artifact), entry);
}

std::vector<std::string> InstalledPlugins::unknown_names() const {
  return gantry::unknown_names(state_->config, set());
}

void InstalledPlugins::warn_of_unknown_names() const {
  for (const std::string& line : unknown_names()) state_->log.warning(line);
}

}  // namespace gantry
