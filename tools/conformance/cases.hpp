// SPDX-License-Identifier: Apache-2.0
//
// The table of all cases. sdk/CONFORMANCE.md has the same rows, which a test compares.
#pragma once

#include "tools/conformance/case.hpp"

#include <span>
#include <vector>

namespace gantry::kit {

// One function for each group, in the file that it names.
std::span<const Case> static_cases();
std::span<const Case> load_cases();
std::span<const Case> query_cases();
std::span<const Case> growth_cases();
std::span<const Case> error_cases();
std::span<const Case> config_cases();
std::span<const Case> host_cases();
std::span<const Case> blob_cases();
std::span<const Case> save_cases();
std::span<const Case> refusal_cases();
std::span<const Case> function_cases();
std::span<const Case> handle_cases();
std::span<const Case> cancel_cases();
std::span<const Case> device_cases();
std::span<const Case> memory_cases();
std::span<const Case> stream_cases();
std::span<const Case> completion_cases();
std::span<const Case> loss_cases();
std::span<const Case> lifetime_cases();
std::span<const Case> neighbour_cases();
std::span<const Case> stress_cases();
std::span<const Case> package_cases();
std::span<const Case> generator_cases();
std::span<const Case> prepare_cases();
std::span<const Case> trace_cases();
std::span<const Case> model_cases();
std::span<const Case> leak_cases();

// All cases, by number.
std::vector<Case> all_cases();
// Returns NULL if there is no such case.
const Case* find_case(std::span<const Case> cases, int number);

}  // namespace gantry::kit
