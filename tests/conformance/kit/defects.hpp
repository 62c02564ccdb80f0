// SPDX-License-Identifier: Apache-2.0
//
// Which cases of gantry-conformance a fake fails.
#pragma once

#include <vector>

namespace gantry::test {

// The cases of level S that a file fails, with repetitions.
std::vector<int> cases_failed_by_files();
// The other cases that a defect of kit_plugin fails, with repetitions.
std::vector<int> cases_failed_by_defects();
// Those that a way of breaks.cpp fails, with repetitions.
std::vector<int> cases_failed_by_breaks();

}  // namespace gantry::test
