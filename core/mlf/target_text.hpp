// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gantry/result.hpp>

#include <string_view>

namespace gantry {

// Checks the form of a target: a kind and options, "llvm -mcpu=skylake -keys=cpu", or a JSON object
// with the key "kind". Kinds and options are not looked up.
//
// returns  malformed, with the offset in the text
Status check_target_text(std::string_view text);

}  // namespace gantry
