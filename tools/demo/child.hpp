// SPDX-License-Identifier: Apache-2.0
//
// Recognises in a child process: a driver that aborts or crashes ends only its own rows.
#pragma once

#include "tools/demo/recognise.hpp"

#include <gantry/result.hpp>

#include <functional>
#include <string>
#include <vector>

namespace gantry::demo {

// Calls a function in a child process and returns the rows that it adds.
//
// kind     [in]   of devices: "opencl"
// work     [in]   passes each row to its argument as soon as it is complete
// returns  the error of `work`; if the process ends before, the rows until then and one for the
//          kind, which is missing because its driver ended the process
// thread   this process has no others
Result<std::vector<Recognised>> in_child(
    const std::string& kind,
    const std::function<Status(const std::function<void(const Recognised&)>& add)>& work);

}  // namespace gantry::demo
