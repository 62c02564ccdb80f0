// SPDX-License-Identifier: Apache-2.0
//
// What the parser asks of an option's value: a value that fails is wrong usage.
#pragma once

#include <gantry/result.hpp>

#include <CLI/CLI.hpp>

#include <string>
#include <string_view>

namespace gantry::cli {

// What `parse` refuses.
template <class T>
CLI::Validator accepted_by(Result<T> (*parse)(std::string_view)) {
  return CLI::Validator(
      [parse](std::string& text) {
        const auto parsed = parse(text);
        return parsed.ok() ? std::string() : parsed.error().message;
      },
      "");
}

// An empty path or name, as an unset variable of a script leaves it.
CLI::Validator not_empty();

// A tolerance: finite, not negative.
CLI::Validator tolerance();

}  // namespace gantry::cli
