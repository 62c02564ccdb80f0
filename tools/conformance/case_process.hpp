// SPDX-License-Identifier: Apache-2.0
//
// Runs one case, or a part of one, in a process of its own, so that a crash, an exit, a hang or
// exhausted memory of the plugin is the result of that case only. The process executes this program
// again.
//
//     gantry-conformance MANIFEST --run-case N [--part PART]   report ──▶ descriptor 3
#pragma once

#include "core/base/process.hpp"
#include "tools/conformance/results.hpp"
#include "tools/conformance/subject.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace gantry::kit {

struct ProcessLimits {
  // of a part; a case has SubjectOptions::case_seconds
  double seconds = 30;
  // resident memory of the process
  std::uint64_t memory_bytes = std::uint64_t{4} << 30;
};

// Runs a case in this process. Exceptions are failures of the case.
CaseResult run_case(const Case& which, Subject& subject);

// Runs a case in another process.
CaseResult run_case_in_process(const Case& which, const SubjectOptions& options,
                               const ProcessLimits& limits);

struct PartEnd {
  // with the last 16 KiB of its output
  ProgramEnd process;
  // Case::part returned it
  std::string report;
  // Where the plugin has crashed or was when the time was over: "plugin acme.npu 1.0.0 crashes in
  // load_binary at 0x1f40 of its library". Empty: unknown
  std::string place;

  // "is ended by signal 11 (Segmentation fault) after 0.2 s: plugin acme.npu 1.0.0 crashes in ..."
  std::string text() const;
};

// Runs Case::part in another process.
//
// number   [in]   of the case
// part     [in]   not empty
// returns  unavailable: the process cannot be started
Result<PartEnd> run_part(const Subject& subject, int number, std::string_view part,
                         const ProcessLimits& limits = {});

// Runs a part whose report is a status_report().
//
// what     [in]   subject of the error if the process crashes: "a process without devices"
// returns  the answer; the error of the status, skipped() and not_run() included
Result<std::string> check_part(const Subject& subject, int number, std::string_view part,
                               std::string_view what);

// A status as the report of a part.
//
// answer   [in]   of a success
std::string status_report(const Status& status, std::string_view answer = {});

// Called in the other process: runs the case, or a part of it if that is not empty, reports and ends
// the process without calling exit handlers.
[[noreturn]] void report_and_exit(const Case& which, Subject& subject, const std::string& part);

// Adds a line of the last output to an error, if there is any.
Failure with_output(Failure failure, const ProgramEnd& end);

}  // namespace gantry::kit
