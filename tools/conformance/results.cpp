// SPDX-License-Identifier: Apache-2.0
#include "tools/conformance/results.hpp"

#include "tools/conformance/cases.hpp"

#include <gantry/concat.hpp>
#include <gantry/join.hpp>

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

namespace gantry::kit {

std::string_view name_of(State state) {
  constexpr std::string_view names[] = {"passed", "failed", "skipped", "skipped"};
  return names[static_cast<std::size_t>(state)];
}

void Results::add(CaseResult result) {
  const auto first_line = [](const CaseResult& of) {
    return std::string_view(of.text).substr(0, of.text.find('\n'));
  };
  const auto first = std::ranges::find_if(cases, [&](const CaseResult& earlier) {
    if (earlier.state != State::failed || earlier.same_as != 0) return false;
    if (!earlier.signature.empty()) return result.text.find(earlier.signature) != std::string::npos;
    // The error of a call, with what the later case did in front of it.
    const std::string_view known = first_line(earlier), line = first_line(result);
    return !known.empty() && (line == known || line.ends_with(concat(": ", known)));
  });
  const bool has_first = result.state == State::failed && first != cases.end();
  if (has_first) result.same_as = first->which->number;
  cases.push_back(std::move(result));
}

std::size_t Results::count(State state) const {
  return static_cast<std::size_t>(std::count_if(
      cases.begin(), cases.end(), [&](const CaseResult& each) { return each.state == state; }));
}

bool Results::failed() const {
  return std::any_of(cases.begin(), cases.end(),
                     [](const CaseResult& each) { return each.is_failure(); });
}

namespace {

// From the lowest, with the levels of cases that each one has beyond those before it.
struct Rank {
  std::string_view name;
  std::span<const Level> levels;
};
constexpr Level kBronze[] = {Level::S, Level::L}, kSilver[] = {Level::D}, kGold[] = {Level::X};
constexpr Rank kRanks[] = {{"bronze", kBronze}, {"silver", kSilver}, {"gold", kGold}};

bool holds_back(const CaseResult* result) {
  return result == nullptr || result->state == State::failed || result->state == State::not_run;
}

// Why a case does not count, as one line.
std::string reason_of(const CaseResult* result) {
  if (result == nullptr) return "not run";
  if (result->state == State::failed) return "failed";
  return result->text.substr(0, result->text.find('\n'));
}

}  // namespace

const CaseResult* Results::find(int number) const {
  const auto at = std::ranges::find_if(
      cases, [&](const CaseResult& result) { return result.which->number == number; });
  return at == cases.end() ? nullptr : &*at;
}

std::string_view Results::level() const {
  std::string_view reached = "none";
  for (const Rank& rank : kRanks) {
    for (const Level level : rank.levels) {
      bool passed = false;
      for (const Case& each : all_cases()) {
        if (each.level != level || each.weight != Weight::must) continue;
        const CaseResult* const result = find(each.number);
        if (holds_back(result)) return reached;
        passed = passed || result->state == State::passed;
      }
      if (!passed) return reached;
    }
    reached = rank.name;
  }
  return reached;
}

std::string Results::missing() const {
  const std::string_view reached = level();
  const auto* rank = std::ranges::find(kRanks, reached, &Rank::name);
  rank = rank == std::end(kRanks) ? kRanks : rank + 1;
  if (rank == std::end(kRanks)) return {};
  struct Line {
    std::string reason;
    std::vector<int> numbers;
  };
  // In the order of the first case.
  std::vector<Line> lines;
  for (const Case& each : all_cases()) {
    if (std::ranges::count(rank->levels, each.level) == 0 || each.weight != Weight::must) continue;
    const CaseResult* const result = find(each.number);
    if (!holds_back(result)) continue;
    std::string reason = reason_of(result);
    auto line = std::ranges::find(lines, reason, &Line::reason);
    if (line == lines.end()) line = lines.insert(lines.end(), {std::move(reason), {}});
    line->numbers.push_back(each.number);
  }
  // Each applies to no plugin of this kind.
  if (lines.empty()) return concat(rank->name, " has no case that applies to this plugin\n");
  std::string text = concat(rank->name, " requires cases\n");
  for (const auto& [reason, numbers] : lines)
    text += concat("  ", join(numbers, ", ", {}, 12), ": ", reason, "\n");
  return text;
}

CaseResult result_of(const Case& which, const Status& status, double seconds) {
  CaseResult result{.which = &which, .state = State::passed, .seconds = seconds};
  if (status.ok()) return result;
  const Error& error = status.error();
  result.state = error.reason == skip_reason      ? State::skipped
                 : error.reason == not_run_reason ? State::not_run
                                                  : State::failed;
  result.text = error.message.text();
  return result;
}

}  // namespace gantry::kit
