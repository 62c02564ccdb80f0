// SPDX-License-Identifier: Apache-2.0
//
// Resolves the options of a plugin from all sources that may set them. Later sources override
// earlier ones:
//
//     default of config_schema, `config` of the manifest, drop-ins, backends.<id>.config of the
//     configuration, GANTRY_CONFIG_<ID>__<KEY>, options from the program
#pragma once

#include "core/plugins/manifest/manifest.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gantry {

struct ConfigValue {
  std::string key;
  ConfigScalar value;
  // source of the layer; "default" for a default of the schema
  std::string source;
  bool secret = false;
  // of config_schema
  std::string doc = {};
};

// Values for the expansion of ${...} in texts: ${manifest_dir}, ${library_dir}, ${state_dir},
// ${env:NAME}, ${env:NAME:-text}; $$ is a dollar sign. Expansion is one pass without nesting. NAME
// must be listed in the manifest's env_allow.
struct ConfigLocations {
  std::string manifest_dir, library_dir, state_dir;
  std::function<std::optional<std::string>(const std::string& name)> environment;
};

// Resolves the options of a plugin.
//
// layers   [in]   sources after the manifest and its drop-ins, lowest precedence first
// warnings [out]  gets a text for each key of `layers` that a manifest without config_schema does
//                 not set
// returns  invalid, naming plugin, option and source, with reason CONFIG_KEY (unknown option) or
//          CONFIG_VALUE (wrong type or range, failed expansion)
Result<std::vector<ConfigValue>> resolve_config(const Manifest& manifest,
                                                std::span<const ConfigLayer> layers,
                                                const ConfigLocations& locations,
                                                std::vector<Message>& warnings);

// Returns a digest of keys, types and values, secret ones too; their sources do not matter.
std::uint64_t digest_of(std::span<const ConfigValue> values);

// "GANTRY_CONFIG_ACME_NPU__CACHE_MB" for acme.npu and cache_mb.
std::string config_variable(std::string_view plugin_id, std::string_view key);

// The value for output; "***" for a secret.
std::string display_text(const ConfigValue& value);

}  // namespace gantry
