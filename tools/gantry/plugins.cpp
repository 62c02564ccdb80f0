// SPDX-License-Identifier: Apache-2.0
#include "core/base/json_document.hpp"
#include "tools/gantry/command.hpp"
#include "tools/gantry/common/escape.hpp"
#include "tools/gantry/common/terminal.hpp"
#include "tools/gantry/common/text_table.hpp"
#include "tools/gantry/session.hpp"

#include <gantry/join.hpp>

#include <unistd.h>

#include <optional>

namespace gantry::cli {
namespace {

std::string joined_keys(const Manifest& manifest) {
  std::vector<std::string> all;
  for (const ManifestKey& key : manifest.keys) {
    all.push_back(key.key);
    all.insert(all.end(), key.aliases.begin(), key.aliases.end());
  }
  for (const ManifestDevice& device : manifest.devices) all.push_back("device " + device.name);
  return join(all, ", ", escaped);
}

void print_list(const std::vector<Candidate>& candidates) {
  if (candidates.empty()) return print("no plugin is installed\n");
  const auto row_of = [&](std::size_t index) -> TableRow {
    const Candidate& candidate = candidates[index];
    const auto& manifest = candidate.manifest;
    const auto state = candidate.stopped() ? candidate.reason.tag : name_of(candidate.passed);
    return {manifest ? escaped(manifest->id) : "-", manifest ? manifest->version.text : "-",
            TableCell(std::string(state), candidate.stopped() ? Tone::warning : Tone::good),
            manifest ? joined_keys(*manifest) : "", escaped(candidate.file)};
  };
  write_table({{"id"}, {"version"}, {"state"}, {"serves"}, {"manifest"}}, candidates.size(), row_of,
              terminal_of(STDOUT_FILENO), print, 0);
}

void write_offers(const Manifest& manifest, JsonWriter& json) {
  std::vector<std::string> keys, aliases, devices;
  for (const ManifestKey& key : manifest.keys) {
    keys.push_back(key.key);
    aliases.insert(aliases.end(), key.aliases.begin(), key.aliases.end());
  }
  for (const ManifestDevice& device : manifest.devices) devices.push_back(device.name);
  write_texts("keys", keys, json);
  write_texts("aliases", aliases, json);
  write_texts("devices", devices, json);
  write_texts("globals", manifest.globals, json);
}

void write_listed(const Candidate& candidate, JsonWriter& json) {
  const auto& manifest = candidate.manifest;
  json.field("id", manifest ? std::optional(json_text(manifest->id)) : std::nullopt);
  json.field("version", manifest ? std::optional(json_text(manifest->version.text)) : std::nullopt);
  json.field("state", name_of(candidate.passed));
  json.field("reason",
             candidate.stopped() ? std::optional(name_of(candidate.reason)) : std::nullopt);
  json.field("text", text_or_null(candidate.text));
  write_offers(manifest ? *manifest : Manifest(), json);
  json.field("library", manifest ? std::optional(json_text(manifest->library_path)) : std::nullopt);
  json.field("manifest", json_text(candidate.file));
}

std::string list_json(const std::vector<Candidate>& candidates) {
  return json_document(
      [&](JsonWriter& json) { write_objects("plugins", candidates, json, write_listed); });
}

Result<ExitStatus> list(const bool& json, const Globals& globals) {
  GANTRY_TRY(const auto runtime, open_state(globals));
  PluginSet& plugins = *runtime->plugins;
  // As `doctor`: the states are those that a request would find.
  plugins.inspect_all();
  plugins.note_probes();
  const std::vector<Candidate> candidates = plugins.candidates();
  if (json) {
    print(list_json(candidates));
  } else {
    print_list(candidates);
  }
  return kDone;
}

void add_list(CLI::App& plugins, Invocation& invocation) {
  auto json = std::make_shared<bool>(false);
  CLI::App* command = plugins.add_subcommand("list", "list the manifests found and their states");
  command->alias("ls");
  command->add_flag("--json", *json, "print one JSON document");
  command->footer("Example:\n  gantry plugins list");
  set_action(*command, invocation, json, list);
}

}  // namespace

void add_plugins(CLI::App& app, Invocation& invocation) {
  CLI::App* plugins = app.add_subcommand("plugins", "list, explain, install and remove plugins");
  plugins->require_subcommand(1);
  plugins->fallthrough();
  plugins->footer("Example:\n  gantry plugins doctor");
  add_list(*plugins, invocation);
  add_doctor(*plugins, invocation);
  add_install(*plugins, invocation);
  add_remove(*plugins, invocation);
  add_new(*plugins, invocation);
  add_plugins_explain(*plugins, invocation);
  add_plugins_reasons(*plugins, invocation);
  add_plugins_check(*plugins, invocation);
  add_plugins_lock(*plugins, invocation);
  add_plugins_verify(*plugins, invocation);
  add_plugins_clear(*plugins, invocation);
}

}  // namespace gantry::cli
