// SPDX-License-Identifier: Apache-2.0
//
// The manifest's keys as data. configs/schema/plugin.schema.json says the same; a test keeps them equal.
#pragma once

#include "core/yaml/yaml_record.hpp"

#include <span>

namespace gantry {

std::span<const YamlField> manifest_fields();
// What a drop-in may change.
std::span<const YamlField> drop_in_fields();

}  // namespace gantry
