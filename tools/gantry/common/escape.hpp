// SPDX-License-Identifier: Apache-2.0
//
// Escapes names from files for the output format in which they are printed. A Message escapes them
// for people; <gantry/quoted.hpp> also adds quotes and truncates.
#pragma once

#include "core/base/escape.hpp"

#include <string>
#include <string_view>

namespace gantry::cli {

// For double-quoted labels of Graphviz and of Mermaid.
std::string dot_text(std::string_view name);
std::string mermaid_text(std::string_view name);

// A type key as part of a file name: letters, digits, '.', '-' and '_' are unchanged, anything else
// and a leading '.' become '_'; at most 64 bytes, never empty.
std::string file_name_text(std::string_view key);

}  // namespace gantry::cli
