// SPDX-License-Identifier: Apache-2.0
//
// Measures in a child process: a driver that aborts or crashes ends only its own measurement.
#pragma once

#include "tools/demo/measure.hpp"

#include <gantry/result.hpp>

#include <functional>
#include <string>
#include <vector>

namespace gantry::demo {

// What a child process measured.
struct ChildReport {
  std::vector<Measured> rows;
  // how long it took to load the artifact
  double load_ms = 0;
};

// Calls a function in a child process and returns its report.
//
// kind     [in]   of devices: "opencl"
// measure  [in]   passes each row to its argument as soon as it is measured
// returns  the error of `measure`; if the process ends before, the rows until then and one for the
//          kind, which is missing because its driver ended the process
// thread   this process has no others
Result<ChildReport> in_child(
    const std::string& kind,
    const std::function<Result<double>(const std::function<void(const Measured&)>& add)>& measure);

}  // namespace gantry::demo
