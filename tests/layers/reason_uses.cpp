// SPDX-License-Identifier: Apache-2.0
#include "tests/layers/reason_uses.hpp"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <regex>
#include <utility>

namespace gantry::layers {
namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_lower(char c) { return std::islower(static_cast<unsigned char>(c)) != 0; }

// "BLOB_SIZE", "SHAPE"
bool is_tag(std::string_view text) {
  return text.size() > 1 && std::isupper(static_cast<unsigned char>(text[0])) != 0 &&
         std::ranges::all_of(text, [](char c) { return is_word(c) && !is_lower(c); });
}

std::string upper(std::string_view text) {
  std::string all(text);
  for (char& c : all) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return all;
}

// Returns where a comment or a raw string ends.
std::size_t end_of(std::string_view source, std::string_view end, std::size_t from) {
  const std::size_t at = source.find(end, from);
  return at == source.npos ? source.npos : at + end.size();
}

// The code of the errors that a function of gantry/failure.hpp makes; empty for other functions.
std::string code_of(std::string_view function) {
  constexpr std::string_view names[] = {"malformed", "unsupported", "unavailable",
                                        "exhausted", "invalid",     "not_found",
                                        "cancelled", "bug",         "lost"};
  return std::find(std::begin(names), std::end(names), function) != std::end(names)
             ? upper(function)
             : "";
}

}  // namespace

SourceReasons::SourceReasons(std::string_view source)
    : text_(source), openers_(source.size(), none) {
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < source.size();) {
    const std::size_t begin = i;
    const std::size_t opener = open.empty() ? none : open.back();
    const char c = source[i], next = i + 1 < source.size() ? source[i + 1] : '\0';
    if (c == '/' && next == '/') {
      i = blank(i, source.find('\n', i));
    } else if (c == '/' && next == '*') {
      i = blank(i, end_of(source, "*/", i + 2));
    } else if (c == 'R' && next == '"') {
      const std::size_t body = source.find('(', i);
      const std::string end = ")" + std::string(source.substr(i + 2, body - i - 2)) + "\"";
      i = blank(i, end_of(source, end, body));
    } else if (c == '"' || (c == '\'' && (i == 0 || !is_word(source[i - 1])))) {
      std::size_t end = i + 1;
      while (end < source.size() && source[end] != c && source[end] != '\n')
        end += source[end] == '\\' ? 2 : 1;
      const std::string_view content = source.substr(i + 1, end - i - 1);
      if (c == '"' && is_tag(content)) tags_.push_back({i, std::string(content)});
      i = blank(i, end + 1);
    } else {
      if (c == '(' || c == '[' || c == '{') open.push_back(i);
      if ((c == ')' || c == ']' || c == '}') && !open.empty()) open.pop_back();
      ++i;
    }
    for (std::size_t at = begin; at < i; ++at) openers_[at] = opener;
  }
}

// Returns the end, or that of the text.
std::size_t SourceReasons::blank(std::size_t from, std::size_t end) {
  end = std::min(end, text_.size());
  for (std::size_t i = from; i < end; ++i) {
    if (text_[i] != '\n') text_[i] = ' ';
  }
  return end;
}

int SourceReasons::line(std::size_t at) const {
  const std::string_view text = std::string_view(text_).substr(0, at);
  return 1 + static_cast<int>(std::count(text.begin(), text.end(), '\n'));
}

// Returns the text up to `at` without trailing blanks.
std::string_view SourceReasons::before(std::size_t at) const {
  while (at > 0 && std::isspace(static_cast<unsigned char>(text_[at - 1])) != 0) --at;
  return std::string_view(text_).substr(0, at);
}

// Returns the last word before `at`; empty if there is another character.
std::string_view SourceReasons::word_before(std::size_t at) const {
  const std::string_view text = before(at);
  std::size_t begin = text.size();
  while (begin > 0 && is_word(text[begin - 1])) --begin;
  return text.substr(begin);
}

// Returns the name to which a bracket belongs: of a function that is called or declared, of a
// lambda, name = [...](, or of a variable, name[] = { or name{. Empty: it belongs to none.
std::string_view SourceReasons::owner(std::size_t bracket) const {
  std::string_view text = before(bracket);
  while (text.ends_with(']') || text.ends_with('=')) {
    const std::size_t last = text.size() - 1;
    const std::size_t end = text.ends_with(']') ? openers_[last] : last;
    if (end == none) return {};
    text = before(end);
  }
  return word_before(text.size());
}

// Returns where the word `reason` is.
std::vector<std::size_t> SourceReasons::reason_words() const {
  constexpr std::string_view word = "reason";
  std::vector<std::size_t> all;
  for (std::size_t at = text_.find(word); at != none; at = text_.find(word, at + word.size())) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !is_word(text_[at - 1])) && (end == text_.size() || !is_word(text_[end])))
      all.push_back(at);
  }
  return all;
}

std::set<std::string> SourceReasons::functions() const {
  std::set<std::string> names;
  for (const std::size_t at : reason_words()) {
    const std::string_view type = before(at);
    const bool is_text = type.ends_with("string_view") ||
                         (type.ends_with('*') && word_before(type.size() - 1) == "char");
    const std::size_t bracket = openers_[at];
    if (!is_text || bracket == none || text_[bracket] != '(') continue;
    const std::string_view name = owner(bracket);
    if (!name.empty() && name != "if" && name != "for") names.emplace(name);
  }
  return names;
}

std::set<std::string> SourceReasons::constants() const {
  constexpr std::string_view qualifier = "reason::";
  const std::string_view text = text_;
  std::set<std::string> names;
  for (const std::size_t at : reason_words()) {
    if (!text.substr(at).starts_with(qualifier)) continue;
    const std::string_view name = text.substr(at + qualifier.size());
    names.emplace(name.begin(), std::find_if_not(name.begin(), name.end(), is_word));
  }
  return names;
}

bool SourceReasons::is_compared_or_assigned(std::size_t at) const {
  std::string_view text = before(at);
  if (!text.ends_with('=')) return false;
  text.remove_suffix(1);
  if (text.ends_with('=') || text.ends_with('!')) text.remove_suffix(1);
  return word_before(text.size()) == "reason";
}

// Returns the code among the first arguments of a call: GANTRY_INVALID, Code::invalid.
std::string SourceReasons::code_among_arguments(std::size_t bracket) const {
  static const std::regex pattern(R"(\(\s*(?:\w+,\s*GANTRY_([A-Z_]+)\b|Code::(\w+)))");
  std::smatch found;
  const auto begin = text_.begin() + static_cast<std::ptrdiff_t>(bracket);
  if (!std::regex_search(begin, text_.end(), found, pattern,
                         std::regex_constants::match_continuous))
    return {};
  return upper(found[1].matched ? found[1].str() : found[2].str());
}

// Returns the code of the error of whose calls one is a method: code(...).at(...).with_reason(
//
// method   [in]   the end of the method's name
std::string SourceReasons::code_of_chain(std::size_t method) const {
  for (;;) {
    std::string_view text = before(method - word_before(method).size());
    if (!text.ends_with('.')) return {};
    text = before(text.size() - 1);
    if (!text.ends_with(')')) return {};
    const std::size_t bracket = openers_[text.size() - 1];
    if (bracket == none) return {};
    const std::string_view name = word_before(bracket);
    method = before(bracket).size();
    if (before(method - name.size()).ends_with('.')) continue;
    return name == "fail" || name == "Error" ? code_among_arguments(bracket) : code_of(name);
  }
}

std::vector<ReasonUse> SourceReasons::uses(const std::set<std::string>& functions) const {
  std::set<std::string> known = this->functions();
  known.insert(functions.begin(), functions.end());

  std::vector<ReasonUse> all;
  for (const Tag& tag : tags_) {
    ReasonUse use{tag.text, "", line(tag.at)};
    bool is_use = is_compared_or_assigned(tag.at);
    for (std::size_t at = openers_[tag.at]; at != none && !is_use; at = openers_[at]) {
      const std::string_view name = owner(at);
      is_use = true;
      if (name == "with_reason") {
        use.code = code_of_chain(before(at).size());
      } else if (known.contains(std::string(name))) {
        use.code = code_of(name);
        if (use.code.empty()) use.code = code_among_arguments(at);
      } else {
        is_use = name.find("reason") != none;
      }
    }
    if (is_use) all.push_back(std::move(use));
  }
  return all;
}

}  // namespace gantry::layers
