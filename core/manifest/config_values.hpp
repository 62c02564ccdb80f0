// SPDX-License-Identifier: Apache-2.0
//
// The options that a plugin is created with, from all places that may set them:
//
//     config_schema default < manifest `config` < drop-ins < backends.<id>.config < GANTRY_CONFIG_<ID>__<KEY>
//                           < options given by the program
#pragma once

#include "core/manifest/manifest.hpp"

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gantry {

struct ConfigValue {
  std::string key;
  ConfigScalar value;
  // the layer's; "default" for the schema's own
  std::string source;
  bool secret = false;
  bool live = false;
};

// What ${...} in text values stands for: ${manifest_dir}, ${library_dir}, ${state_dir}, ${env:NAME},
// ${env:NAME:-text}, $$. One pass, no nesting; NAME must stand in the manifest's env_allow.
struct ConfigLocations {
  std::string manifest_dir, library_dir, state_dir;
  std::function<std::optional<std::string>(const std::string& name)> environment;
};

// layers   [in]   after the manifest and its drop-ins, lowest precedence first
// warnings [out]  keys that a plugin without config_schema was not known to have
// returns  invalid, reason CONFIG_KEY (unknown, with near names) or CONFIG_VALUE (type, range, expansion), with plugin,
//          option and source
Result<std::vector<ConfigValue>> resolve_config(const Manifest& manifest,
                                                std::span<const ConfigLayer> layers,
                                                const ConfigLocations& locations,
                                                std::vector<std::string>& warnings);

// "GANTRY_CONFIG_ACME_NPU__CACHE_MB" for acme.npu and cache_mb.
std::string config_variable(std::string_view plugin_id, std::string_view key);

// As doctor prints it; a secret is "***".
std::string display_text(const ConfigValue& value);

}  // namespace gantry
