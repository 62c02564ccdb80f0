// SPDX-License-Identifier: Apache-2.0
#include "tools/conformance/results.hpp"

#include "tools/conformance/cases.hpp"

#include <algorithm>

namespace gantry::kit {

std::string_view name_of(State state) {
  constexpr std::string_view names[] = {"passed", "failed", "skipped", "skipped"};
  return names[static_cast<std::size_t>(state)];
}

std::size_t Results::count(State state) const {
  return static_cast<std::size_t>(std::count_if(
      cases.begin(), cases.end(), [&](const CaseResult& each) { return each.state == state; }));
}

bool Results::failed() const {
  return std::any_of(cases.begin(), cases.end(),
                     [](const CaseResult& each) { return each.is_failure(); });
}

std::string_view Results::level() const {
  const auto counts = [&](Level level) {
    bool passed = false;
    for (const Case& each : all_cases()) {
      if (each.level != level || each.weight != Weight::must) continue;
      const auto at = std::find_if(cases.begin(), cases.end(), [&](const CaseResult& result) {
        return result.which->number == each.number;
      });
      if (at == cases.end() || at->state == State::failed || at->state == State::not_run)
        return false;
      passed = passed || at->state == State::passed;
    }
    return passed;
  };
  if (!counts(Level::S) || !counts(Level::L)) return "none";
  if (!counts(Level::D)) return "bronze";
  return counts(Level::X) ? "gold" : "silver";
}

CaseResult result_of(const Case& which, const Status& status, double seconds) {
  if (status.ok()) return {&which, State::passed, {}, seconds};
  const Error& error = status.error();
  const State state = error.reason == skip_reason      ? State::skipped
                      : error.reason == not_run_reason ? State::not_run
                                                       : State::failed;
  return {&which, state, error.message.text(), seconds};
}

}  // namespace gantry::kit
