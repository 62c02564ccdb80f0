// SPDX-License-Identifier: Apache-2.0
//
// The validator of options with a number. Its texts are the same with every release of CLI11.
#pragma once

#include "core/base/text.hpp"

#include <gantry/concat.hpp>
#include <gantry/quoted.hpp>

#include <CLI/CLI.hpp>

#include <string>
#include <type_traits>

namespace gantry::cli {

// Accepts a decimal number from `min` to `max`; the help shows both.
template <class Number>
CLI::Validator in_range(Number min, Number max) {
  return CLI::Validator(
      [min, max](std::string& text) {
        const auto number = parse_number<Number>(text);
        return number && *number >= min && *number <= max
                   ? std::string()
                   : concat("is ", quoted(text), ", expected a number from ", min, " to ", max);
      },
      concat(std::is_floating_point_v<Number> ? "FLOAT" : "INT", " in [", min, " - ", max, "]"));
}

}  // namespace gantry::cli
