// SPDX-License-Identifier: Apache-2.0
//
// The defect of a fake plugin, which a test writes over a marker in a copy of the library. One
// library with all defects costs less than one for each.
#pragma once

#include <string_view>

namespace fake {

// Does the plugin have this defect?
bool has(std::string_view defect);

}  // namespace fake
