// SPDX-License-Identifier: Apache-2.0
//
// Escapes names from files for reports. A Message escapes them for people; <gantry/quoted.hpp> also
// adds quotes and truncates.
#pragma once

#include <string>
#include <string_view>

namespace gantry {

// Doubles backslashes and escapes what append_escaped() escapes. The result is unique: two names
// never have the same text.
std::string escaped(std::string_view name);

// Returns a text with its line breaks and tabs; other control characters, marks of bidirectional text,
// and bytes that are not UTF-8 are shown as \xNN.
std::string escaped_lines(std::string_view text);

// A string for JSON: valid UTF-8 unchanged, anything else as escaped() returns it.
std::string json_text(std::string_view name);

// A text for XML and HTML, also in an attribute: json_text() with references for the characters of
// markup and for line breaks; other characters that XML does not have are question marks.
std::string markup_text(std::string_view text);

}  // namespace gantry
