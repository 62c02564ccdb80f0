// SPDX-License-Identifier: Apache-2.0
#include "core/engine/runtime/plugin_globals.hpp"

#include "core/base/process_end.hpp"
#include "core/base/thread_end.hpp"
#include "core/engine/runtime/state.hpp"
#include "core/plugins/choice/table_copy.hpp"

#include <gantry/abi_boundary.hpp>
#include <gantry/join.hpp>
#include <gantry/quoted.hpp>

namespace gantry {
namespace {

// NULL with OK: the plugin does not have the function.
Result<Ref<FunctionObject>> find_in(RuntimeState& state, const ActivePlugin& plugin,
                                    std::string_view name) {
  const std::string subject = concat("get_global of plugin ", plugin.plugin->id);
  if (!plugins_may_run()) return process_end_error(subject);
  const PluginInstance& instance = instance_of(plugin);
  const auto* offered = static_cast<const gantry_globals*>(
      plugin.plugin->table.get_extension(instance.self(), GANTRY_GLOBALS_1));
  GANTRY_TRY(const gantry_globals globals,
             copy_table(offered, concat("plugin ", plugin.plugin->id)));
  StatusBuffer status;
  gantry_function function{};
  const auto owner = [&] { return concat("plugin ", plugin.plugin->id); };
  const gantry_code code = call_plugin(status, "get_global", owner, [&](gantry_status* reported) {
    return globals.get_global(instance.self(), {name.data(), name.size()}, &function, reported);
  });
  if (code == GANTRY_NOT_FOUND) return Ref<FunctionObject>();
  if (code != GANTRY_OK) return status.error(code, subject).at("while looking up ", quoted(name));
  return adopt_function(
      function, [&] { return subject; }, name, {}, 0, state.trace.get(), state.life());
}

}  // namespace

Result<Ref<FunctionObject>> find_plugin_global(RuntimeState& state, std::string_view name) {
  const std::vector<Choice> choices = state.plugins->choices_for_global(name);
  if (choices.empty()) return Ref<FunctionObject>();
  std::optional<Error> failure;
  for (const Choice& choice : choices) {
    const auto find = [&]() -> Result<Ref<FunctionObject>> {
      GANTRY_TRY(const auto plugin, state.plugins->open(choice));
      return find_in(state, *plugin, name);
    };
    auto found = find();
    if (found.ok() && *found) return found;
    if (!found.ok()) failure = std::move(found).error();
  }
  if (failure) return std::move(*failure).at("which offers the global function ", quoted(name));
  const auto id_of = [&](const Choice& choice) {
    return state.plugins->candidate(choice.candidate).manifest->id;
  };
  return not_found("global function ", quoted(name), " not found; ", join(choices, ", ", id_of),
                   choices.size() == 1 ? " offers" : " offer", " it by manifest and ",
                   choices.size() == 1 ? "does" : "do", " not have it")
      .with_reason("GLOBAL_MISSING");
}

}  // namespace gantry
