// SPDX-License-Identifier: Apache-2.0
#include "core/trace/json_writer.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cassert>

namespace gantry {
namespace {

constexpr std::size_t most_pending = 32768;

// Such a text stands in a document as it is; a library for all others is ten times slower.
bool is_plain(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; });
}

// A single value: its destructor has nothing to flatten, so it does not allocate.
std::string dumped(const nlohmann::json& leaf, bool ascii) {
  return leaf.dump(-1, ' ', ascii, nlohmann::json::error_handler_t::replace);
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
  hand_over(levels_.empty() ? 0 : most_pending);
}

void JsonWriter::key(std::string_view name) {
  assert(!levels_.empty() && levels_.back().closing == '}');
  separate();
  append_text(name);
  pending_.append(style_.lines ? ": " : ":");
  behind_key_ = true;
}

void JsonWriter::value(std::string_view text) {
  separate();
  append_text(text);
  hand_over(most_pending);
}

void JsonWriter::value(double number) { literal(dumped(number, false)); }

void JsonWriter::literal(std::string_view text) {
  separate();
  pending_.append(text);
  hand_over(most_pending);
}

void JsonWriter::append_text(std::string_view text) {
  if (is_plain(text)) {
    pending_.append("\"").append(text).append("\"");
  } else {
    pending_.append(dumped(text, style_.ascii));
  }
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
