// SPDX-License-Identifier: Apache-2.0
#include "core/plugins/manifest/global_names.hpp"

#include <algorithm>

namespace gantry {
namespace {

constexpr std::size_t max_names = 256;
constexpr std::size_t max_name_bytes = 256;
constexpr std::string_view blanks = " \t\n";

bool is_function_name(std::string_view text) {
  return !text.empty() && text != "*" && text.size() <= max_name_bytes &&
         text.find_first_of("{}, \t\n") == text.npos && text.find('*') >= text.size() - 1;
}

std::string_view without_blanks(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
  return text.substr(0, text.find_last_not_of(blanks) + 1);
}

}  // namespace

std::optional<std::vector<std::string>> names_of_global(std::string_view entry) {
  const std::size_t open = entry.find('{');
  if (open == entry.npos) {
    if (!is_function_name(entry)) return std::nullopt;
    return std::vector<std::string>{std::string(entry)};
  }
  if (!entry.ends_with('}')) return std::nullopt;
  std::vector<std::string> names;
  std::string_view rest = entry.substr(open + 1, entry.size() - open - 2);
  for (bool is_last = false; !is_last;) {
    const std::size_t comma = rest.find(',');
    is_last = comma == rest.npos;
    const std::string_view end = without_blanks(rest.substr(0, comma));
    std::string name(entry.substr(0, open));
    name += end;
    if (end.empty() || !is_function_name(name) || names.size() == max_names) return std::nullopt;
    names.push_back(std::move(name));
    if (!is_last) rest.remove_prefix(comma + 1);
  }
  return names;
}

}  // namespace gantry
