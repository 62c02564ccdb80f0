// SPDX-License-Identifier: Apache-2.0
//
// Names that come from files, made fit for the place where they are printed. Only <gantry/quoted.hpp>
// is for error texts; these are for lists, where quotes would be in the way and nothing is cut.
#pragma once

#include <string>
#include <string_view>

namespace gantry::cli {

// Printable ASCII as it is, any other byte as \x1b, a backslash doubled: one to one, so that two
// names never look alike.
std::string escaped(std::string_view name);

// The same, but line breaks stay and backslashes are not doubled: for texts that are already
// sentences.
std::string escaped_lines(std::string_view text);

// A string that JSON can hold: valid UTF-8 as it is, anything else as escaped() has it.
std::string json_text(std::string_view name);

// Inside a double-quoted label of Graphviz, and of Mermaid.
std::string dot_text(std::string_view name);
std::string mermaid_text(std::string_view name);

// A type key as part of a file name: letters, digits, '.', '-' and '_' stay, anything else becomes
// '_', as does a leading '.'; at most 64 bytes, never empty.
std::string file_name_text(std::string_view key);

}  // namespace gantry::cli
