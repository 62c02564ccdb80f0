// SPDX-License-Identifier: Apache-2.0
#include "core/engine/runtime/plugin_generators.hpp"

#include "core/base/process_end.hpp"
#include "core/engine/runtime/plugin_instance.hpp"
#include "core/engine/runtime/state.hpp"
#include "core/plugins/library/table_copy.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace gantry {

TargetKinds target_kinds(const PluginSet& plugins) {
  std::vector<std::shared_ptr<const Manifest>> manifests;
  for (const Candidate& candidate : plugins.candidates()) {
    if (candidate.manifest && !candidate.stopped()) manifests.push_back(candidate.manifest);
  }
  std::ranges::stable_sort(manifests,
                           [](const auto& a, const auto& b) { return comes_first(*a, *b); });
  TargetKinds kinds;
  for (const auto& manifest : manifests) {
    for (const TargetKind& kind : manifest->target_kinds) kinds.add(kind, manifest->id);
  }
  return kinds;
}

Result<Generator> plugin_generator(RuntimeState& state, std::string_view plugin) {
  GANTRY_TRY(const auto active, state.plugins->open(plugin));
  const std::string subject = concat("plugin ", active->plugin->id);
  if (!plugins_may_run()) return process_end_error(subject);
  void* const self = instance_of(*active).self();
  GANTRY_TRY(const gantry_generator table,
             copy_table(static_cast<const gantry_generator*>(
                            active->plugin->table.get_extension(self, GANTRY_GENERATOR_1)),
                        subject));
  // The plugin is released before the runtime.
  using Life = std::pair<std::shared_ptr<RuntimeState>, std::shared_ptr<const ActivePlugin>>;
  return Generator{active->plugin->id, table, self,
                   std::make_shared<const Life>(state.shared_from_this(), active)};
}

}  // namespace gantry
