// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gantry/result.hpp>

#include <string_view>

namespace gantry {

// Checks the form of a target of any kind: the name of a kind or a tag, then options, or a JSON
// object with the member "kind" or "tag". Kinds, tags and options are not looked up; parse_target()
// does that.
//
// returns  MALFORMED  with the offset in the text
Status check_target_form(std::string_view text);

}  // namespace gantry
