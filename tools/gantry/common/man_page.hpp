// SPDX-License-Identifier: Apache-2.0
//
// Man pages of the programs and their commands, from what their parsers accept:
//
//     gantry.1, gantry-run.1, gantry-plugins.1, gantry-plugins-doctor.1, ...; gantry-conformance.1
#pragma once

#include "tools/gantry/common/command_text.hpp"

#include <gantry/result.hpp>

#include <filesystem>
#include <span>
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

// What the pages of a program state and its parser does not contain.
struct ManLists {
  struct Entry {
    std::string_view title, text;
  };
  std::span<const Entry> exit_statuses;
  // on the page of the program; may be empty
  std::span<const Entry> variables, files;
  // further pages of section 1 for the page of the program
  std::span<const std::string_view> see_also;
};

// Those of gantry.
ManLists lists_of_gantry();

// Returns one page for each command, first that of the program.
//
// version  [in]   "0.1.0"
std::vector<ManPage> man_pages(const CommandText& root, std::string_view version,
                               const ManLists& lists = lists_of_gantry());

// Writes them to a directory, which is created. A hidden command of each program does this for the build.
Status write_man_pages(const std::filesystem::path& directory, std::span<const ManPage> pages);

// Returns a text in which roff has nothing to interpret. Hyphens become minus signs, which can be
// copied to a command line and searched.
std::string roff_text(std::string_view text);

}  // namespace gantry::cli
