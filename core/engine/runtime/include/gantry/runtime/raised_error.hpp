// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gantry/raised_error.hpp>

#include <string_view>

namespace gantry {

// Returns an error that keeps its kind and its text unchanged, also through compiled code.
//
// returns  invalid, reason HOST_CODE; exhausted
Failure raised_error(std::string_view kind, std::string_view text);

}  // namespace gantry
