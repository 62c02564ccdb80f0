// SPDX-License-Identifier: Apache-2.0
//
// Reads the device modules of a recipe. Part of recipe.cpp.
#pragma once

#include "core/base/yaml/yaml_record.hpp"
#include "core/writing/recipe.hpp"

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

// The fields of an item of `device_modules`.
extern const YamlField device_module_fields[6];

// root       [in]   the checked recipe
// directory  [in]   base of relative paths
// returns    malformed with the location
Result<std::vector<DeviceModuleSource>> read_device_modules(const YamlRecord& root,
                                                            const YamlDocument& document,
                                                            const std::filesystem::path& directory);

// ", did you mean ..." with a usual element type; empty if none is near.
std::string near_dtype(std::string_view wrong);
// Returns "digits.yaml:20:3: parameters.w0".
std::string recipe_location(const YamlDocument& document, const YamlLocation& at,
                            const std::string& path);
// The same for a YamlEntry or a YamlValue.
template <class Item>
std::string recipe_location(const YamlDocument& document, const Item& item,
                            const std::string& path) {
  return recipe_location(document, item.location, path);
}

}  // namespace gantry
