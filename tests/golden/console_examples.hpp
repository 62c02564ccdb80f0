// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gantry::test {

// Runs the commands in the `console` blocks of a page, "$ gantry ...", each followed by its output,
// and expects that they print it. "..." stands for any text in a line, a line "..." for any lines.
//
// plugins  [in]   of this build, which the commands find: "graph"
// returns  the number of commands
int run_examples(std::string_view page, const std::vector<std::string>& plugins);

}  // namespace gantry::test
