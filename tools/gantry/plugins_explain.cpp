// SPDX-License-Identifier: Apache-2.0
#include "core/base/json_document.hpp"
#include "tools/gantry/command.hpp"
#include "tools/gantry/common/terminal.hpp"
#include "tools/gantry/explanation_json.hpp"
#include "tools/gantry/option_checks.hpp"
#include "tools/gantry/plugin_report.hpp"
#include "tools/gantry/session.hpp"

#include <gantry/join.hpp>
#include "core/base/text.hpp"

#include <algorithm>

namespace gantry::cli {
namespace {

struct ExplainOptions {
  std::string id;
  bool json = false;
};

constexpr std::string_view margin = "           ";

std::string manifest_text(const Manifest& manifest) {
  std::string text;
  const auto add = [&](std::string_view name, std::string_view value) {
    if (!value.empty()) text += text_line("  ", pad(std::string(name), 10), value);
  };
  add("name", manifest.display_name);
  add("vendor", manifest.vendor);
  add("license", manifest.license);
  add("homepage", manifest.homepage);
  add("support", manifest.support);
  add("manifest", manifest.file);
  add("library", manifest.library_path);
  add("abi", abi_text(manifest.abi));
  add("priority", concat(manifest.priority));
  add("required", manifest.required ? "yes" : "");
  add("globals", join(manifest.globals));
  return text;
}

// The used manifest has no verdict unless something stops it.
std::string manifest_line(const ExplainedManifest& one) {
  const ExplainedCandidate& candidate = one.candidate;
  const std::string version = candidate.version.empty() ? "?" : candidate.version;
  const std::string_view verdict = candidate.reason ? name_of(candidate.verdict) : "used";
  std::string text = text_line("  ", pad(upper(verdict), 9), pad(version, 10), " tier ",
                               number_of(candidate.tier), "  ", candidate.file);
  if (candidate.reason) {
    text += text_line(margin, name_of(candidate.reason), "  ", indent(candidate.text, margin));
  } else {
    text += text_line(margin, name_of(candidate.passed));
  }
  for (const std::string& drop_in : one.drop_ins) text += text_line(margin, "drop-in ", drop_in);
  return text;
}

std::string option_line(const ConfigValue& value) {
  const std::string text =
      text_line("  ", pad(value.key, 20), " ", pad(display_text(value), 20), " ", value.source);
  return value.doc.empty() ? text : text + text_line(margin, value.doc);
}

std::string options_text(const PluginReport& report) {
  if (!report.options.ok())
    return "\noptions\n" + text_line("  REFUSED  ", indent(report.options.error().message, margin));
  if (report.options->empty()) return "";
  return "\noptions\n" + join(*report.options, "", option_line);
}

// The candidates of this plugin, and the chosen one.
std::string offer_text(const ExplainedRequirement& entry, std::string_view id) {
  const Requirement& requirement = entry.requirement;
  const auto is_ours = [&](const ExplainedCandidate& one) { return one.id == id; };
  const auto chosen =
      std::ranges::find(entry.candidates, Verdict::chosen, &ExplainedCandidate::verdict);
  std::string text =
      "\n" + text_line(requirement.device ? "device " : "key ", pad(requirement.what, 20), " ",
                       chosen == entry.candidates.end() ? "served by no plugin"
                       : is_ours(*chosen)               ? "served by this plugin"
                                                        : concat("served by ", chosen->title));
  for (const ExplainedCandidate& one : entry.candidates) {
    if (is_ours(one)) text += to_text(one);
  }
  if (!entry.tie.empty()) text += text_line("  tie: ", entry.tie);
  return text;
}

std::string report_text(const PluginReport& report) {
  const ExplainedPlugin& plugin = report.plugin;
  std::string text = plugin.manifest
                         ? text_line("plugin ", plugin.id, " ", plugin.manifest->version.text) +
                               manifest_text(*plugin.manifest)
                         : text_line("plugin ", plugin.id, ": no manifest of it is used");
  text += "\nmanifests\n" + join(plugin.manifests, "", manifest_line);
  text += options_text(report);
  for (const ExplainedRequirement& entry : plugin.offers.requirements)
    text += offer_text(entry, plugin.id);
  for (const Message& warning : report.warnings) text += text_line("warning: ", warning);
  return text;
}

std::string report_json(const PluginReport& report) {
  return json_document([&](JsonWriter& json) {
    write_plugin(report, json);
    write_objects("offers", report.plugin.offers.requirements, json, write_requirement);
    write_texts("warnings", report.warnings, json);
  });
}

Result<ExitStatus> explain_and_print(const ExplainOptions& options, const Globals& globals) {
  GANTRY_TRY(const auto runtime, open_state(globals));
  runtime->plugins->inspect_all();
  runtime->plugins->note_probes();
  GANTRY_TRY(const PluginReport report, examine_plugin(*runtime, options.id));
  print(options.json ? report_json(report) : report_text(report));
  return kDone;
}

}  // namespace

void add_plugins_explain(CLI::App& plugins, Invocation& invocation) {
  auto options = std::make_shared<ExplainOptions>();
  CLI::App* command = plugins.add_subcommand(
      "explain", "explain one plugin: manifests, options and what it serves");
  command->add_option("ID", options->id, "id of the plugin: acme.npu")
      ->required()
      ->check(not_empty());
  command->add_flag("--json", options->json, "print one JSON document");
  command->footer(
      "Opens no plugin. Values of secret options are not printed.\n\n"
      "Example:\n  gantry plugins explain gantry.graph");
  set_action(*command, invocation, options, explain_and_print);
}

}  // namespace gantry::cli
