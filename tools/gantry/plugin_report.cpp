// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/plugin_report.hpp"

#include "core/base/json_document.hpp"
#include "tools/gantry/explanation_json.hpp"

#include "core/engine/runtime/plugin_options.hpp"
#include "core/plugins/library/compatible.hpp"

namespace gantry::cli {
namespace {

void write_used(const Manifest& manifest, JsonWriter& json) {
  json.begin_object("used");
  json.field("version", json_text(manifest.version.text));
  json.field("display_name", text_or_null(manifest.display_name));
  json.field("vendor", text_or_null(manifest.vendor));
  json.field("license", text_or_null(manifest.license));
  json.field("homepage", text_or_null(manifest.homepage));
  json.field("support", text_or_null(manifest.support));
  json.field("manifest", json_text(manifest.file));
  json.field("library", text_or_null(manifest.library_path));
  json.field("abi", abi_text(manifest.abi));
  json.field("priority", manifest.priority);
  json.field("required", manifest.required);
  write_texts("globals", manifest.globals, json);
  json.end();
}

void write_manifest(const ExplainedManifest& one, JsonWriter& json) {
  write_candidate(one.candidate, json);
  json.field("location", text_or_null(one.location));
  write_texts("drop_ins", one.drop_ins, json);
}

// Values of options are texts, because their types differ.
void write_option(const ConfigValue& value, JsonWriter& json) {
  json.field("key", json_text(value.key));
  json.field("value", json_text(display_text(value)));
  json.field("source", json_text(value.source));
  json.field("secret", value.secret);
  json.field("doc", text_or_null(value.doc));
}

}  // namespace

Result<PluginReport> examine_plugin(const RuntimeState& runtime, const std::string& id) {
  PluginReport report;
  GANTRY_TRY(report.plugin, explain_plugin(*runtime.plugins, id));
  if (report.plugin.manifest)
    report.options = plugin_options(runtime, *report.plugin.manifest, report.warnings);
  return report;
}

std::string abi_text(const ManifestAbi& abi) {
  return gantry::describe(gantry_abi_range{abi.major, abi.min_minor, abi.max_minor, 0});
}

void write_plugin(const PluginReport& report, JsonWriter& json) {
  const ExplainedPlugin& plugin = report.plugin;
  json.field("id", json_text(plugin.id));
  if (plugin.manifest) {
    write_used(*plugin.manifest, json);
  } else {
    json.field("used", nullptr);
  }
  write_objects("manifests", plugin.manifests, json, write_manifest);
  const bool resolved = report.options.ok();
  write_objects("options", resolved ? *report.options : std::vector<ConfigValue>(), json,
                write_option);
  json.field("options_error",
             resolved ? std::nullopt : std::optional(json_text(report.options.error().message)));
}

}  // namespace gantry::cli
