// SPDX-License-Identifier: Apache-2.0
//
// One case of the conformance kit: a row of the table in cases.hpp.
#pragma once

#include <gantry/result.hpp>

#include <array>
#include <string>
#include <string_view>

namespace gantry::kit {

class Subject;
struct SubjectOptions;

enum class Level {
  // static: the file, no code of the plugin runs
  S,
  // load: opened and created, no device required
  L,
  // device: payloads, functions, devices
  D,
  // stress
  X,
};
inline constexpr std::array all_levels{Level::S, Level::L, Level::D, Level::X};
constexpr char letter_of(Level level) { return "SLDX"[static_cast<int>(level)]; }

enum class Weight { must, should };
constexpr std::string_view name_of(Weight weight) {
  return weight == Weight::must ? "must" : "should";
}

struct Case {
  int number;
  Level level;
  Weight weight;
  // unique, in small letters with hyphens
  std::string_view name;
  // what is checked
  std::string_view checks;
  // what to change in a plugin that fails
  std::string_view change;
  // returns  ok: passed; the error of skipped() or not_run(): skipped; any other error: failed, with
  //          what was found
  Status (*run)(Subject& subject);
  // A crash in this function of the plugin is what the case looks for, so that `change` is what to
  // do about it: "create"; "*": in any
  std::string_view fault_in = {};
  // what `run` has other processes do, see case_process.hpp; returns the report of the part
  std::string (*part)(Subject& subject, const std::string& part) = nullptr;
  // seconds that it takes by its options, in addition to the time that each case has; NULL: none
  double (*length)(const SubjectOptions& options) = nullptr;
};

inline constexpr std::string_view skip_reason = "CASE_SKIPPED";
inline constexpr std::string_view not_run_reason = "CASE_NOT_RUN";

// The result of a case that does not apply to the plugin.
template <class... Parts>
Failure skipped(const Parts&... parts) {
  return unavailable(parts...).with_reason(skip_reason);
}

// The result of a case that applies, but cannot run here: payloads or a device are missing. The
// level of the case is then not reached.
template <class... Parts>
Failure not_run(const Parts&... parts) {
  return unavailable(parts...).with_reason(not_run_reason);
}

}  // namespace gantry::kit
