// SPDX-License-Identifier: Apache-2.0
#include "core/plugins/manifest/drop_in.hpp"

#include "core/base/reason.hpp"
#include "core/plugins/manifest/manifest_fields.hpp"

#include <algorithm>

namespace gantry {
namespace {

bool is_field(std::span<const YamlField> fields, std::string_view name) {
  return std::any_of(fields.begin(), fields.end(),
                     [&](const YamlField& field) { return field.name == name; });
}

}  // namespace

void apply_switches(const YamlRecord& record, Manifest& manifest) {
  manifest.enabled = record.boolean("enabled", manifest.enabled);
  manifest.required = record.boolean("required", manifest.required);
  manifest.priority = static_cast<std::int32_t>(record.integer("priority", manifest.priority));
  if (record.has("probe")) {
    const std::string probe = record.text("probe");
    manifest.probe = probe == "always"  ? Probe::always
                     : probe == "never" ? Probe::never
                                        : Probe::automatic;
  }
  if (record.has("env_allow")) manifest.env_allow = record.texts("env_allow");
}

void apply_config(const YamlRecord& record, const std::string& source, Manifest& manifest) {
  ConfigLayer layer{source, {}};
  for (const YamlEntry& entry : record.entries("config")) {
    layer.values.push_back(to_config_text(entry.key, entry.value));
  }
  if (!layer.values.empty()) manifest.config.push_back(std::move(layer));
}

Status apply_drop_in(const YamlDocument& document, Manifest& manifest) {
  for (const YamlEntry& entry : document.root.entries) {
    if (is_field(manifest_fields(), entry.key) && !is_field(drop_in_fields(), entry.key)) {
      return yaml_error(document.file, entry.location, entry.key,
                        "a drop-in may only set enabled, required, priority, probe, env_allow and "
                        "config")
          .with_reason(reason::drop_in_key.tag);
    }
  }
  GANTRY_TRY(const YamlRecord root, read_record(document, drop_in_fields(), {.skip_x_keys = true}));
  apply_switches(root, manifest);
  apply_config(root, document.file, manifest);
  return {};
}

Status apply_drop_in(std::string_view text, const std::string& file, Manifest& manifest) {
  GANTRY_TRY(const YamlDocument document, parse_yaml(text, file));
  return apply_drop_in(document, manifest);
}

}  // namespace gantry
