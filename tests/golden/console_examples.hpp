// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace gantry::test {

// Runs the commands in the `console` blocks of a page, "$ gantry ...", each followed by its output,
// with all plugins of this build, and expects that they print it. "..." stands for any text in a
// line, a line "..." for any lines.
//
// written  [in]   a file that the examples write, and where it is written
// returns  the number of commands
struct WrittenFile {
  std::string name, path;
};
int run_examples(std::string_view page, const WrittenFile& written = {});

}  // namespace gantry::test
