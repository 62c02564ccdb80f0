// SPDX-License-Identifier: Apache-2.0
#include "core/formats/target/target_form.hpp"

#include "core/base/text.hpp"
#include "core/formats/target/target.hpp"
#include "core/formats/target/target_words.hpp"

#include <gantry/json_tree.hpp>
#include <gantry/quoted.hpp>

#include <algorithm>
#include <vector>

namespace gantry {
namespace {

// "nvidia/nvidia-t4"
bool is_target_tag_name(std::string_view name) {
  return name.find('/') != name.npos && is_identifier_character(name.front()) &&
         std::ranges::all_of(name, [](char c) {
           return is_identifier_character(c) || c == '-' || c == '.' || c == '/';
         });
}

Status check_target_name(std::string_view name, std::uint64_t at) {
  if (is_target_kind_name(name) || is_target_tag_name(name)) return {};
  return malformed(at, "target has ", quoted(name), ", expected the name of a kind");
}

Status check_json_form(std::string_view text) {
  GANTRY_TRY(const JsonTree tree, JsonTree::parse(text, {.name = "target"}));
  const JsonValue root = tree.root();
  for (const char* key : {"kind", "tag"}) {
    const auto name = root.find(key);
    // TVM writes an empty tag if there is none.
    if (!name || (name->is(JsonKind::text) && name->text().empty())) continue;
    if (name->is(JsonKind::text)) return check_target_name(name->text(), name->offset());
    return malformed(name->offset(), "member ", quoted(key), " of the target is ",
                     name_of(name->kind()), ", expected a string");
  }
  return malformed(root.offset(), "target has no member \"kind\" and no \"tag\"");
}

}  // namespace

Status check_target_form(std::string_view text) {
  if (text.size() > max_target_bytes) {
    return malformed(0, "target has ", text.size(), " bytes, maximum is ", max_target_bytes);
  }
  const std::size_t first = text.find_first_not_of(" \t\n\v\f\r");
  if (first != text.npos && text[first] == '{') return check_json_form(text);
  GANTRY_TRY(const std::vector<TargetWord> words, target_words(text));
  if (words.empty()) return malformed(0, "target is empty, expected the name of a kind");
  GANTRY_CHECK(check_target_name(words[0].text, words[0].at));
  for (std::size_t next = 1; next < words.size(); ++next) {
    const TargetWord& word = words[next];
    GANTRY_TRY(const TargetOptionWord option, target_option_word(word));
    if (!is_target_option_name(option.name)) {
      return malformed(word.at, "target has the option ", quoted(option.name),
                       ", expected a letter, then letters, digits, \"_\", \".\" and \"-\"");
    }
    // The value of an option without '=' is the next word.
    const bool is_value_next =
        !option.value && next + 1 < words.size() && !words[next + 1].text.starts_with('-');
    if (is_value_next) ++next;
  }
  return {};
}

}  // namespace gantry
