// SPDX-License-Identifier: Apache-2.0
#include "core/engine/runtime/installed_plugins.hpp"

#include "core/base/process_end.hpp"
#include "core/engine/runtime/artifact_file.hpp"
#include "core/engine/runtime/config_check.hpp"
#include "core/engine/runtime/devices.hpp"
#include "core/engine/runtime/payload_text.hpp"
#include "core/engine/runtime/plugin_options.hpp"
#include "core/engine/runtime/state.hpp"
#include "core/formats/kind/file_kind.hpp"
#include "core/plugins/choice/table_copy.hpp"

#include <algorithm>
#include <utility>

namespace gantry {

PluginSet& InstalledPlugins::set() const { return *state_->plugins; }

Prober& InstalledPlugins::prober() const { return *state_->prober; }

const PayloadLayouts& InstalledPlugins::layouts() const { return state_->layouts; }

std::optional<std::string> InstalledPlugins::serving(std::string_view type_key) {
  const auto known = serving_.find(type_key);
  if (known != serving_.end()) return known->second;
  const auto choice = set().usable_for_key(type_key, Depth::library);
  // Not cached, because a file can contain any number of unknown keys.
  if (!choice) return std::nullopt;
  const std::string id = set().candidate(choice->candidate).manifest->id;
  return serving_.emplace(type_key, id).first->second;
}

Result<std::vector<ConfigValue>> InstalledPlugins::options_of(
    const Manifest& manifest, std::vector<Message>& warnings) const {
  return plugin_options(*state_, manifest, warnings);
}

Result<Generator> InstalledPlugins::generator(std::string_view plugin) const {
  GANTRY_TRY(const auto active, set().open(plugin));
  const std::string subject = concat("plugin ", active->plugin->id);
  if (!plugins_may_run()) return process_end_error(subject);
  void* const self = instance_of(*active).self();
  GANTRY_TRY(const gantry_generator table,
             copy_table(static_cast<const gantry_generator*>(
                            active->plugin->table.get_extension(self, GANTRY_GENERATOR_1)),
                        subject));
  // The plugin is released before the runtime.
  using Life = std::pair<std::shared_ptr<RuntimeState>, std::shared_ptr<const ActivePlugin>>;
  return Generator{active->plugin->id, table, self, std::make_shared<const Life>(state_, active)};
}

TargetKinds InstalledPlugins::target_kinds() const {
  std::vector<Manifest> manifests;
  for (Candidate& candidate : set().candidates()) {
    if (candidate.manifest && !candidate.stopped()) {
      manifests.push_back(std::move(*candidate.manifest));
    }
  }
  std::stable_sort(manifests.begin(), manifests.end(), comes_first);
  TargetKinds kinds;
  for (Manifest& manifest : manifests) {
    for (TargetKind& kind : manifest.target_kinds) kinds.add(std::move(kind), manifest.id);
  }
  return kinds;
}

Result<std::shared_ptr<const Artifact>> InstalledPlugins::read_artifact(
    const std::string& path) const {
  GANTRY_TRY(auto file, MappedFile::open(path));
  const bool is_bare = kind_of(file->bytes()) == FileKind::container;
  GANTRY_TRY(auto artifact, is_bare ? open_bare_artifact(state_->new_artifact(), std::move(file))
                                    : open_artifact(state_->new_artifact(), std::move(file)));
  GANTRY_TRY(const ContainerLocation location, container_location(*artifact));
  GANTRY_TRY(artifact->container, read_container(location, layouts()));
  return std::shared_ptr<const Artifact>(std::move(artifact));
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
