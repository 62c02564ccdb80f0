// SPDX-License-Identifier: Apache-2.0
//
// Man pages of the commands, from what the parser accepts:
//
//     gantry.1, gantry-run.1, gantry-plugins.1, gantry-plugins-doctor.1, ...
#pragma once

#include "tools/gantry/common/command_text.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gantry::cli {

struct ManPage {
  // "gantry-plugins-doctor.1"
  std::string file;
  // roff with the macros of man(7), ASCII. Without a date, so that it depends only on the sources
  std::string text;
};

// Returns one page for each command, first that of the program.
//
// version  [in]   "0.1.0"
std::vector<ManPage> man_pages(const CommandText& root, std::string_view version);

// Returns a text in which roff has nothing to interpret. Hyphens become minus signs, which can be
// copied to a command line and searched.
std::string roff_text(std::string_view text);

}  // namespace gantry::cli
