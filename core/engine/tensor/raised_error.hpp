// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gantry/result.hpp>

#include <string_view>

namespace gantry {

// Returns an error with an error object, whose kind and text are kept unchanged. Its message is the
// text, escaped.
//
// kind     [in]   "ValueError"
// returns  invalid, reason HOST_CODE, without the object if memory is exhausted
Error new_raised_error(std::string_view kind, std::string_view text);

}  // namespace gantry
