// SPDX-License-Identifier: Apache-2.0
//
// The words of --form and --generation of `pack` and `repack`.
#pragma once

#include "core/writing/container.hpp"
#include "core/writing/pack.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gantry::cli {

inline constexpr std::pair<std::string_view, Generation> generations[] = {
    {"g2", Generation::g2},
    {"g3", Generation::g3},
    {"g4", Generation::g4},
    {"g5", Generation::g5},
};

inline constexpr std::pair<std::string_view, PackForm> forms[] = {
    {"library", PackForm::library},
    {"object", PackForm::object},
    {"source", PackForm::source},
    {"container", PackForm::container},
};

// Returns nullopt if the table has no such name.
template <class Value, std::size_t n>
std::optional<Value> value_of(const std::pair<std::string_view, Value> (&named)[n],
                              std::string_view name) {
  for (const auto& [known, value] : named) {
    if (known == name) return value;
  }
  return std::nullopt;
}

// The names, for CLI::IsMember.
template <class Value, std::size_t n>
std::vector<std::string> names_of(const std::pair<std::string_view, Value> (&named)[n]) {
  std::vector<std::string> names;
  for (const auto& each : named) names.emplace_back(each.first);
  return names;
}

inline std::string_view name_of(PackForm form) {
  return std::ranges::find(forms, form, &std::pair<std::string_view, PackForm>::second)->first;
}

}  // namespace gantry::cli
