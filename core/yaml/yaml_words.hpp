// SPDX-License-Identifier: Apache-2.0
//
// What a YAML text can say, told from its bytes: who looks for one word in many texts need not parse those that cannot
// hold it.
#pragma once

#include <string_view>

namespace gantry {

// Can a scalar or a key of this text be `word`? False is sure, of every text that parse_yaml() takes; true is not.
//
// A scalar is spelled as it reads but for three things: escapes, which have a backslash; line folding, which makes
// blanks; and '' in single quotes. Anchors, aliases and tags, by which a text could say more, are refused.
//
// costs    O(|text|), at the speed of memchr
bool yaml_can_say(std::string_view text, std::string_view word);

}  // namespace gantry
