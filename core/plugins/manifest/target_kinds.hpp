// SPDX-License-Identifier: Apache-2.0
//
// The key `target_kinds` of a manifest.
#pragma once

#include "core/base/yaml/yaml_record.hpp"
#include "core/plugins/manifest/manifest.hpp"

#include <vector>

namespace gantry {

// Reads the kinds that a manifest declares.
//
// root     [in]   the manifest, checked against manifest_fields()
// manifest [in]   its keys and devices are read already
// returns  malformed, reason MANIFEST_VALUE, at the first value that does not fit the others
Result<std::vector<TargetKind>> read_target_kinds(const YamlDocument& document,
                                                  const YamlRecord& root, const Manifest& manifest);

}  // namespace gantry
