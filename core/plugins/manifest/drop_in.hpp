// SPDX-License-Identifier: Apache-2.0
//
// Drop-ins, name.yaml.d/*.yaml: files in which an administrator overrides some keys of a vendor's
// manifest.
#pragma once

#include "core/base/yaml/yaml_record.hpp"
#include "core/plugins/manifest/manifest.hpp"

#include <string>
#include <string_view>

namespace gantry {

// Applies a drop-in, which may set enabled, required, priority, probe, env_allow and config.
//
// returns  malformed with the location; reason DROP_IN_KEY for a key that only a manifest may set
Status apply_drop_in(std::string_view text, const std::string& file, Manifest& manifest);
// The same for a text that is parsed.
Status apply_drop_in(const YamlDocument& document, Manifest& manifest);

// Apply the keys that manifests and drop-ins have in common, from a checked record of either.
void apply_switches(const YamlRecord& record, Manifest& manifest);
void apply_config(const YamlRecord& record, const std::string& source, Manifest& manifest);

}  // namespace gantry
