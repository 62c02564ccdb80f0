// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/common/json_writer.hpp"

#include <gantry/result.hpp>

#include <algorithm>
#include <cassert>

namespace gantry::cli {
namespace {

constexpr std::size_t most_pending = 32768;

// Such a text stands in a document as it is; a library for all others is ten times slower.
bool is_plain(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; });
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
  if (levels_.empty()) pending_.push_back('\n');
  hand_over(levels_.empty() ? 0 : most_pending);
}

void JsonWriter::key(std::string_view name) {
  assert(!levels_.empty() && levels_.back().closing == '}');
  separate();
  append_text(name);
  pending_.append(": ");
  behind_key_ = true;
}

void JsonWriter::value(const Json& value) {
  separate();
  if (value.is_null()) {
    pending_.append("null");
  } else if (value.is_number_unsigned()) {
    pending_.append(concat(value.get<std::uint64_t>()));
  } else if (value.is_string()) {
    append_text(value.get_ref<const std::string&>());
  } else {
    pending_.append(text_of(value, levels_.size()));
  }
  hand_over(most_pending);
}

void JsonWriter::append_text(std::string_view text) {
  if (is_plain(text)) {
    pending_.append("\"").append(text).append("\"");
  } else {
    pending_.append(text_of(Json(text), 0));
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

void JsonWriter::break_line() { pending_.append("\n").append(2 * levels_.size(), ' '); }

}  // namespace gantry::cli
