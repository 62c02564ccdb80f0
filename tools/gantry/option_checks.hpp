// SPDX-License-Identifier: Apache-2.0
//
// Options of the commands, and validators of their values. An invalid value is wrong usage.
#pragma once

#include "core/base/text.hpp"

#include <gantry/concat.hpp>
#include <gantry/embed.hpp>
#include <gantry/quoted.hpp>
#include <gantry/result.hpp>

#include <CLI/CLI.hpp>

#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace gantry::cli {

// Returns the text of an error with its lines of context and its offset in one line, as that of other
// wrong usage.
std::string one_line(const Error& error);

// Accepts the values that `parse` accepts.
template <class T>
CLI::Validator accepted_by(Result<T> (*parse)(std::string_view)) {
  return CLI::Validator(
      [parse](std::string& text) {
        const auto parsed = parse(text);
        return parsed.ok() ? std::string() : one_line(parsed.error());
      },
      "");
}

// Accepts a decimal number from `min` to `max`; the help shows both. The text is the same with every
// release of CLI11.
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

// Rejects an empty path or name, for example from an unset variable in a script.
CLI::Validator not_empty();

// Adds an option with a text that is not empty.
//
// type     [in]   the name of the value in the help
CLI::Option* add_text(CLI::App& app, const std::string& name, const std::string& type,
                      std::string& value, const std::string& description);

// Adds an option that may be repeated and takes one value each time, so that a FILE after it
// remains the positional argument.
CLI::Option* add_repeatable(CLI::App& app, const std::string& name, const std::string& type,
                            std::vector<std::string>& values, const std::string& description,
                            const CLI::Validator& check = not_empty());

// Adds --weights FILE, see model_weights.hpp.
CLI::Option* add_weights(CLI::App& app, std::string& path);

// Adds the options of a load: what the artifact may lack or require.
//
// options  [out]  but `devices`
void add_load(CLI::App& app, LoadOptions& options);

// Accepts the name of an .npy or .npz file, a pipe or device, and "-".
CLI::Validator array_output();

// Accepts the name of a .json file.
CLI::Validator script_output();

// Adds --timeout SECONDS, the time for one driver.
CLI::Option* add_driver_timeout(CLI::App& app, int& seconds);

// Accepts a finite number that is not negative.
CLI::Validator tolerance();

}  // namespace gantry::cli
