// SPDX-License-Identifier: Apache-2.0
//
// The words of a target's text form, without their quotes and backslashes.
#pragma once

#include <gantry/result.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

struct TargetWord {
  std::string text;
  // offset of its first byte in the target
  std::uint64_t at = 0;
  // positions of commas in `text` that a backslash makes literal, ascending
  std::vector<std::size_t> literal_commas;

  // The part of the word from a position.
  TargetWord from(std::size_t position) const;
};

// Splits at blanks.
//
// returns  MALFORMED  a quote is not closed, or nothing follows a backslash
Result<std::vector<TargetWord>> target_words(std::string_view text);

// A word that is an option.
struct TargetOptionWord {
  std::string name;
  // nullopt: the word has no '='
  std::optional<TargetWord> value;
};

// Divides -name, --name, -name=value or --name=value.
//
// returns  MALFORMED  the word has another form
Result<TargetOptionWord> target_option_word(const TargetWord& word);

// Splits a value at its commas.
std::vector<std::string> target_items(const TargetWord& value);

// Returns a value with the quotes and backslashes that it requires.
std::string quoted_target_value(std::string_view value);
// Joins items with commas, as above.
std::string quoted_target_items(const std::vector<std::string>& items);

}  // namespace gantry
