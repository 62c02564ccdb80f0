// SPDX-License-Identifier: Apache-2.0
#include "core/base/json_writer.hpp"

#include <nlohmann/json.hpp>

#include <cassert>

namespace gantry {
namespace {

constexpr std::size_t max_pending = 32768;

// Returns `text` as a JSON string. Bytes that are not UTF-8 are replaced by U+FFFD.
std::string quoted_text(std::string_view text, bool ascii) {
  return nlohmann::json(text).dump(-1, ' ', ascii, nlohmann::json::error_handler_t::replace);
}

}  // namespace

void JsonWriter::begin(char opening, char closing) {
  separate();
  pending_.push_back(opening);
  levels_.push_back({closing});
}

void JsonWriter::end() {
  assert(!levels_.empty() && !behind_key_);
  const Level level = levels_.back();
  levels_.pop_back();
  if (!level.empty) break_line();
  pending_.push_back(level.closing);
  if (levels_.empty() && style_.ends_line) pending_.push_back('\n');
  hand_over(levels_.empty() ? 0 : max_pending);
}

void JsonWriter::key(std::string_view name) {
  assert(!levels_.empty() && levels_.back().closing == '}');
  separate();
  pending_.append(quoted_text(name, style_.ascii));
  pending_.append(style_.lines ? ": " : ":");
  behind_key_ = true;
}

void JsonWriter::value(std::string_view text) {
  separate();
  pending_.append(quoted_text(text, style_.ascii));
  hand_over(max_pending);
}

// A json value that is a number does not allocate in its destructor.
void JsonWriter::value(double number) { literal(nlohmann::json(number).dump()); }

void JsonWriter::literal(std::string_view text) {
  separate();
  pending_.append(text);
  hand_over(max_pending);
}

void JsonWriter::separate() {
  if (behind_key_) {
    behind_key_ = false;
    return;
  }
  if (levels_.empty()) return;
  if (!levels_.back().empty) pending_.push_back(',');
  levels_.back().empty = false;
  break_line();
}

void JsonWriter::hand_over(std::size_t more_than) {
  if (pending_.size() <= more_than) return;
  sink_(pending_);
  pending_.clear();
}

void JsonWriter::break_line() {
  if (style_.lines) pending_.append("\n").append(2 * levels_.size(), ' ');
}

}  // namespace gantry
