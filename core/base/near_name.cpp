// SPDX-License-Identifier: Apache-2.0
#include "core/base/near_name.hpp"

#include "core/base/text.hpp"

#include <algorithm>
#include <array>

namespace gantry {
namespace {

constexpr std::size_t kMaxLengthName = 256;
constexpr std::size_t kMaxSuggestions = 3;

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  if (a.size() > kMaxLengthName || b.size() > kMaxLengthName) return kMaxLengthName;
  // Three rows of the Damerau-Levenshtein table: a swap refers to the row before the last.
  std::array<std::vector<std::size_t>, 3> rows;
  for (auto& row : rows) row.resize(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) rows[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    auto& now = rows[i % 3];
    const auto& last = rows[(i + 2) % 3];
    const auto& before = rows[(i + 1) % 3];
    now[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t differs = a[i - 1] == b[j - 1] ? 0 : 1;
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, last[j - 1] + differs});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        now[j] = std::min(now[j], before[j - 2] + 1);
      }
    }
  }
  return rows[a.size() % 3][b.size()];
}

std::vector<std::string> near_names(std::string_view wrong,
                                    const std::vector<std::string_view>& names) {
  const std::size_t allowed = std::clamp<std::size_t>(wrong.size() / 3, 1, 3);
  const std::string wrong_lower = lower(wrong);
  std::vector<std::pair<std::size_t, std::string>> near;
  for (const std::string_view name : names) {
    const bool only_case = name.size() == wrong.size() && lower(name) == wrong_lower;
    const std::size_t distance = only_case ? 0 : edit_distance(wrong, name);
    const bool shares = distance < std::max(wrong.size(), name.size());
    if (distance <= allowed && shares) near.emplace_back(distance, name);
  }
  std::sort(near.begin(), near.end());
  near.erase(std::unique(near.begin(), near.end()), near.end());
  std::vector<std::string> out;
  for (auto& [distance, name] : near) {
    if (out.size() < kMaxSuggestions) out.push_back(std::move(name));
  }
  return out;
}

std::string did_you_mean(std::string_view wrong, const std::vector<std::string_view>& names) {
  std::string text;
  for (const std::string& name : near_names(wrong, names)) {
    text.append(text.empty() ? ", did you mean \"" : " or \"").append(name).push_back('"');
  }
  return text;
}

}  // namespace gantry
