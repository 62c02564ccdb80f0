// SPDX-License-Identifier: Apache-2.0
//
// Checks the layering and the style rules that a program can check in the sources.
//
//     sdk/include <- sdk/cxx <- core/formats <- core <- tools
//          ^            ^            ^
//          +------------+- plugins --+
//
// Within core the table in core/CMakeLists.txt applies. Only tests include tests.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::layers {

// One gantry_part() line: the parts that a part may include in addition to itself and base itself:
// "formats/elf", "formats".
using PartTable = std::map<std::string, std::set<std::string>>;

// Reads the gantry_part() calls of a CMake file.
PartTable read_parts(std::string_view cmake);

struct Include {
  // counts from 1
  int line;
  bool is_quoted;
  std::string path;
};

// The #include lines of a source text, without those in comments.
std::vector<Include> read_includes(std::string_view source);

// Checks every source below core, plugins, sdk, tools (and the SPDX line below tests).
//
// root     [in]   a checkout, or a small tree of the same form
// returns  one line for each breach, sorted: "core/formats/x.cpp:3: includes ..., which ..."; empty:
//          no breach
std::vector<std::string> breaches(const std::filesystem::path& root);

}  // namespace gantry::layers
