// SPDX-License-Identifier: Apache-2.0
#include "core/plugins/manifest/filter.hpp"

#include <algorithm>

namespace gantry {
namespace {

// Matches one byte against the class that begins at glob[at] == '[' and sets `end` to the position
// after its ']'. A '[' without ']' matches itself and leaves `end`.
bool matches_class(std::string_view glob, std::size_t at, char c, std::size_t& end) {
  std::size_t i = at + 1;
  const bool negated = i < glob.size() && glob[i] == '!';
  if (negated) ++i;
  const std::size_t close = glob.find(']', i + 1);
  if (close == std::string_view::npos) return c == '[';
  bool found = false;
  while (i < close) {
    const bool range = i + 2 < close && glob[i + 1] == '-';
    found = found || (range ? glob[i] <= c && c <= glob[i + 2] : glob[i] == c);
    i += range ? 3 : 1;
  }
  end = close + 1;
  return found != negated;
}

}  // namespace

bool matches_glob(std::string_view glob, std::string_view text) {
  std::size_t g = 0, t = 0;
  // the last * and the position in the text from which matching resumes after a mismatch
  std::size_t star = std::string_view::npos, star_text = 0;
  while (t < text.size()) {
    if (g < glob.size() && glob[g] == '*') {
      star = g++;
      star_text = t;
      continue;
    }
    if (g < glob.size()) {
      std::size_t next = g + 1;
      const bool same = glob[g] == '?'   ? true
                        : glob[g] == '[' ? matches_class(glob, g, text[t], next)
                                         : glob[g] == text[t];
      if (same) {
        g = next;
        ++t;
        continue;
      }
    }
    if (star == std::string_view::npos) return false;
    g = star + 1;
    t = ++star_text;
  }
  while (g < glob.size() && glob[g] == '*') ++g;
  return g == glob.size();
}

std::vector<PluginFilter> parse_filters(std::string_view list, bool select,
                                        const std::string& source) {
  std::vector<PluginFilter> filters;
  while (!list.empty()) {
    const std::size_t colon = std::min(list.find(':'), list.size());
    if (colon > 0) filters.push_back({std::string(list.substr(0, colon)), select, source});
    list.remove_prefix(std::min(colon + 1, list.size()));
  }
  return filters;
}

}  // namespace gantry
