// SPDX-License-Identifier: Apache-2.0
//
// A text as JSON has it: quoted and escaped.
#pragma once

#include <string>
#include <string_view>

namespace gantry {

// Appends `text` with its quotes. Bytes that are no UTF-8 become U+FFFD, one for the longest beginning of a character.
//
// ascii    [in]   other characters as \uXXXX, above U+FFFF as two of them
// source   RFC 8259 section 7; byte for byte what nlohmann::json's dump() makes of it, which is compared in tests
void append_json_text(std::string& out, std::string_view text, bool ascii);

}  // namespace gantry
