// SPDX-License-Identifier: Apache-2.0
//
// The results of a run, and the level that they prove.
#pragma once

#include "core/plugins/manifest/manifest.hpp"
#include "tools/conformance/case.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::kit {

enum class State {
  passed,
  failed,
  // does not apply to the plugin
  skipped,
  // applies, but cannot run here; reported as skipped
  not_run,
};
// "passed", "failed" or "skipped".
std::string_view name_of(State state);

struct CaseResult {
  const Case* which = nullptr;
  State state = State::failed;
  // failed: what was found; skipped: the reason; several lines
  std::string text;
  double seconds = 0;
  // What the texts of other cases contain that fail by the same defect: " at 0x1f40 of its library".
  // Empty: their first lines are equal, or end with ": " and this one
  std::string signature = {};
  // The place of a process that has exceeded its time, as SubjectOptions::hangs; empty: unknown
  std::string hang = {};
  // Instead of Case::change; empty: that
  std::string change = {};
  // Number of the first case that fails by the same defect, which has the text; 0: this one
  int same_as = 0;

  std::string_view advice() const { return change.empty() ? which->change : change; }
  // A failed `should` case is a warning.
  bool is_failure() const { return state == State::failed && which->weight == Weight::must; }
};

struct Results {
  std::string manifest_file;
  std::string plugin;
  std::string library;
  // hex; of the library
  std::string sha256;
  std::uint32_t abi_minor = 0;
  std::uint64_t seed = 0;
  std::vector<CaseResult> cases;

  // Adds a result. One that fails by the defect of an earlier one refers to that.
  void add(CaseResult result);
  std::size_t count(State state) const;
  std::size_t skipped() const { return count(State::skipped) + count(State::not_run); }
  bool failed() const;
  // "bronze", "silver", "gold" or "none". A level counts if each of its `must` cases passed or does
  // not apply, at least one passed, and the levels below it count: bronze is S and L, silver also
  // D, gold also X.
  std::string_view level() const;
  // What the next level requires, a line for each reason, indented: "bronze requires cases", "  47:
  // this system does not permit ...". Empty: there is no next level.
  std::string missing() const;

 private:
  // NULL: it was not run
  const CaseResult* find(int number) const;
};

// Converts the status of a case.
CaseResult result_of(const Case& which, const Status& status, double seconds);

}  // namespace gantry::kit
