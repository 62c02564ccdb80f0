// SPDX-License-Identifier: Apache-2.0
//
// Text as a quoted and escaped JSON string.
#pragma once

#include <string>
#include <string_view>

namespace gantry {

// Appends `text` as a JSON string, with quotes. Bytes that are not UTF-8 are replaced by U+FFFD,
// one for each maximal prefix of a sequence.
//
// ascii    [in]   true: characters outside ASCII are written as \uXXXX, those above U+FFFF as a
//                 pair
// source   RFC 8259 section 7; tests compare the output with nlohmann::json's dump(), byte for byte
void append_json_text(std::string& out, std::string_view text, bool ascii);

}  // namespace gantry
