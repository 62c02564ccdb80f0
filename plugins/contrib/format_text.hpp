// SPDX-License-Identifier: Apache-2.0
//
// Python's str.format() with texts as arguments.
#pragma once

#include <gantry/handle.hpp>
#include <gantry/result.hpp>

#include <span>
#include <string>
#include <string_view>

namespace gantry::contrib {

// Replaces the fields of a format: "{}", "{0}", "{:>10}"; "{{" and "}}" are braces.
//
// returns  IndexError: there are fewer values; ValueError: the format is not one of texts
Result<std::string> format_texts(const Host& host, std::string_view format,
                                 std::span<const std::string> values);

}  // namespace gantry::contrib
