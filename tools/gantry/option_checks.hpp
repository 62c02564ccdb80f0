// SPDX-License-Identifier: Apache-2.0
//
// Options as our commands have them, and what the parser asks of their values: one that fails is wrong usage.
#pragma once

#include <gantry/result.hpp>

#include <CLI/CLI.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace gantry::cli {

// An option that may be repeated and takes one value each time: a FILE behind it stays the FILE.
CLI::Option* add_repeatable(CLI::App& app, const std::string& name,
                            std::vector<std::string>& values, const std::string& description);

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
