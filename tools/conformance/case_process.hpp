// SPDX-License-Identifier: Apache-2.0
//
// Runs one case in a process of its own, so that a crash, an exit, a hang or exhausted memory of
// the plugin is the result of that case only.
#pragma once

#include "tools/conformance/results.hpp"
#include "tools/conformance/watched_process.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::kit {

// Runs a case in this process. Exceptions are failures of the case.
CaseResult run_case(const Case& which, Subject& subject);

// Spawns this program with `words` and waits for the result of the case.
//
// words    [in]   the arguments that make the program call report_and_exit(), with "%" for the
//                 number of the report's descriptor
CaseResult run_case_in_process(const Case& which, std::vector<std::string> words,
                               const ProcessLimits& limits);

// Runs a part of a case in a forked child. Precondition: this process has one thread.
//
// what     [in]   subject of the error if the child crashes: "a process without devices"
// returns  the status of `body`, skipped() and not_run() included
Status check_in_child(std::string_view what, const std::function<Status()>& body);

// Called in the spawned process: runs the case, writes its result and ends the process without
// calling exit handlers.
[[noreturn]] void report_and_exit(const Case& which, Subject& subject, int report);

}  // namespace gantry::kit
