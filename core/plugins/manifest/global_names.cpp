// SPDX-License-Identifier: Apache-2.0
#include "core/plugins/manifest/global_names.hpp"

#include "core/base/text.hpp"

#include <algorithm>

namespace gantry {
namespace {

constexpr std::size_t max_names = 256;
constexpr std::size_t max_name_bytes = 256;

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n'; }

std::string_view without_blanks(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

// True for a part of a name. Only the end may have a *.
bool is_part(std::string_view part, bool is_end) {
  if (is_end && part.ends_with('*')) part.remove_suffix(1);
  return std::ranges::none_of(
      part, [](char c) { return c == '*' || c == '{' || c == '}' || c == ',' || is_blank(c); });
}

// A name in two parts, of which the first is checked.
bool is_function_name(std::string_view beginning, std::string_view end) {
  const std::size_t size = beginning.size() + end.size();
  return size > 0 && size <= max_name_bytes && !(beginning.empty() && end == "*") &&
         is_part(end, true);
}

}  // namespace

bool read_global(std::string_view entry, std::vector<std::string>* names) {
  const std::size_t open = entry.find('{');
  if (open == entry.npos) {
    if (!is_function_name({}, entry)) return false;
    if (names != nullptr) names->emplace_back(entry);
    return true;
  }
  const std::string_view beginning = entry.substr(0, open);
  if (!entry.ends_with('}') || !is_part(beginning, false)) return false;
  std::string_view rest = entry.substr(open + 1, entry.size() - open - 2);
  for (std::size_t count = 1;; ++count) {
    const std::size_t comma = rest.find(',');
    const std::string_view end = without_blanks(rest.substr(0, comma));
    if (count > max_names || end.empty() || !is_function_name(beginning, end)) return false;
    if (names != nullptr) append(names->emplace_back(beginning), {end});
    if (comma == rest.npos) return true;
    rest.remove_prefix(comma + 1);
  }
}

}  // namespace gantry
