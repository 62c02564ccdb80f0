// SPDX-License-Identifier: Apache-2.0
//
// The keys of manifests and drop-ins. A test compares them with configs/schema/plugin.schema.json.
#pragma once

#include "core/base/yaml/yaml_record.hpp"

#include <span>

namespace gantry {

std::span<const YamlField> manifest_fields();
// The keys that a drop-in may set.
std::span<const YamlField> drop_in_fields();

}  // namespace gantry
