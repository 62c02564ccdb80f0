// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/common/isolated_outcome.hpp"

#include <gantry/concat.hpp>

#include <charconv>
#include <utility>

namespace gantry::cli {
namespace {

// Of fields, none of which has it: texts of errors are escaped.
constexpr char end_of_field = '\0';

void add(std::string& text, std::string_view field) {
  text += field;
  text += end_of_field;
}

// Removes the first field.
bool take(std::string_view& text, std::string_view& field) {
  const std::size_t end = text.find(end_of_field);
  if (end == text.npos) return false;
  field = text.substr(0, end);
  text.remove_prefix(end + 1);
  return true;
}
template <class Number>
bool take_number(std::string_view& text, Number& number) {
  std::string_view field;
  if (!take(text, field)) return false;
  const auto [end, wrong] = std::from_chars(field.data(), field.data() + field.size(), number);
  return wrong == std::errc() && end == field.data() + field.size();
}

// The number of texts, and the texts.
bool take_results(std::string_view& text, std::vector<std::string>& results) {
  std::size_t count = 0;
  if (!take_number(text, count)) return false;
  for (std::string_view result; results.size() < count; results.emplace_back(result)) {
    if (!take(text, result)) return false;
  }
  return true;
}

// The code, and after any but OK the error.
bool take_status(std::string_view& text, Status& status) {
  gantry_code code{};
  Error error;
  std::string_view message, reason, domain;
  if (!take_number(text, code)) return false;
  if (code == GANTRY_OK) return true;
  if (!is_failure_code(code)) return false;
  if (!take(text, message) || !take(text, reason) || !take_number(text, error.offset) ||
      !take(text, domain) || !take_number(text, error.native_code))
    return false;
  error.code = static_cast<Code>(code);
  error.message = Message::lines(message);
  error.reason = reason;
  error.native_domain = domain;
  status = std::move(error);
  return true;
}

}  // namespace

std::string text_of(const IsolatedOutcome& outcome) {
  std::string text;
  if (outcome.status.ok()) {
    add(text, concat(gantry_code{GANTRY_OK}));
  } else {
    const Error& error = outcome.status.error();
    add(text, concat(static_cast<gantry_code>(error.code)));
    add(text, error.message);
    add(text, error.reason);
    add(text, concat(error.offset));
    add(text, error.native_domain);
    add(text, concat(error.native_code));
  }
  add(text, concat(outcome.results.size()));
  for (const std::string& result : outcome.results) add(text, result);
  for (const Message& warning : outcome.warnings) add(text, warning);
  return text;
}

IsolatedOutcome read_outcome(std::string_view text) {
  IsolatedOutcome outcome;
  if (!take_status(text, outcome.status) || !take_results(text, outcome.results)) {
    outcome.status = unavailable("the child process returned no outcome");
    outcome.results.clear();
    return outcome;
  }
  for (std::string_view warning; take(text, warning);)
    outcome.warnings.push_back(Message::lines(warning));
  return outcome;
}

}  // namespace gantry::cli
