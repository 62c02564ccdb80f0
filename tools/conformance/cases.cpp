// SPDX-License-Identifier: Apache-2.0
#include "tools/conformance/cases.hpp"

#include <algorithm>

namespace gantry::kit {

std::vector<Case> all_cases() {
  std::vector<Case> all;
  for (const auto group :
       {static_cases,   load_cases,      query_cases,      growth_cases,  error_cases,
        config_cases,   host_cases,      blob_cases,       save_cases,    refusal_cases,
        function_cases, handle_cases,    cancel_cases,     device_cases,  stream_cases,
        lifetime_cases, neighbour_cases, stress_cases,     package_cases, generator_cases,
        memory_cases,   loss_cases,      completion_cases, prepare_cases, trace_cases,
        model_cases,    leak_cases}) {
    const std::span<const Case> cases = group();
    all.insert(all.end(), cases.begin(), cases.end());
  }
  std::sort(all.begin(), all.end(),
            [](const Case& a, const Case& b) { return a.number < b.number; });
  return all;
}

const Case* find_case(std::span<const Case> cases, int number) {
  const auto at = std::find_if(cases.begin(), cases.end(),
                               [&](const Case& each) { return each.number == number; });
  return at == cases.end() ? nullptr : &*at;
}

}  // namespace gantry::kit
