// SPDX-License-Identifier: Apache-2.0
//
// Drop-ins: name.yaml.d/*.yaml, by which an administrator changes a few keys of somebody else's manifest.
#pragma once

#include "core/manifest/manifest.hpp"
#include "core/yaml/yaml_record.hpp"

#include <string>
#include <string_view>

namespace gantry {

// Changes enabled, priority, config, env_allow, required, probe; nothing else.
//
// returns  malformed with place; DROP_IN_KEY for a key that a manifest has but a drop-in may not set
Status apply_drop_in(std::string_view text, const std::string& file, Manifest& manifest);

// The keys that both may set, from a checked record, manifest or drop-in.
void apply_switches(const YamlRecord& record, Manifest& manifest);
void apply_config(const YamlRecord& record, const std::string& source, Manifest& manifest);

}  // namespace gantry
