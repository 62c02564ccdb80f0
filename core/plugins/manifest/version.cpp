// SPDX-License-Identifier: Apache-2.0
#include "core/plugins/manifest/version.hpp"

#include "core/base/reason.hpp"

#include <algorithm>
#include <charconv>

namespace gantry {
namespace {

bool is_number(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool is_identifier(std::string_view text) {
  const auto allowed = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
  };
  return !text.empty() && std::all_of(text.begin(), text.end(), allowed);
}

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  for (std::size_t start = 0;;) {
    const std::size_t dot = text.find('.', start);
    parts.push_back(text.substr(start, dot - start));
    if (dot == std::string_view::npos) return parts;
    start = dot + 1;
  }
}

// Compares pre-release identifiers. Numeric ones are less than others and compare numerically; they
// may exceed any integer type.
std::strong_ordering compare(std::string_view a, std::string_view b) {
  const bool a_number = is_number(a), b_number = is_number(b);
  if (a_number != b_number)
    return a_number ? std::strong_ordering::less : std::strong_ordering::greater;
  if (a_number && a.size() != b.size()) return a.size() <=> b.size();
  return a.compare(b) <=> 0;
}

}  // namespace

Result<Version> Version::parse(std::string_view text) {
  const auto wrong = [&](std::string_view why) {
    return invalid("version \"", text, "\" ", why,
                   ", expected major.minor.patch as in 1.4.0 or 2.0.0-rc.1")
        .with_reason(reason::manifest_value.tag);
  };
  Version version;
  version.text = text;
  std::string_view rest = text;
  if (const std::size_t plus = rest.find('+'); plus != std::string_view::npos) {
    for (const std::string_view part : split(rest.substr(plus + 1))) {
      if (!is_identifier(part)) return wrong("has an empty or invalid build identifier");
    }
    rest = rest.substr(0, plus);
  }
  if (const std::size_t dash = rest.find('-'); dash != std::string_view::npos) {
    for (const std::string_view part : split(rest.substr(dash + 1))) {
      if (!is_identifier(part)) return wrong("has an empty or invalid pre-release identifier");
      if (is_number(part) && part.size() > 1 && part[0] == '0')
        return wrong("has a number with a leading zero");
      version.before.emplace_back(part);
    }
    rest = rest.substr(0, dash);
  }
  const std::vector<std::string_view> numbers = split(rest);
  if (numbers.size() != 3) return wrong(concat("has ", numbers.size(), " numbers"));
  std::uint32_t* const locations[] = {&version.major, &version.minor, &version.patch};
  for (std::size_t i = 0; i < 3; ++i) {
    if (!is_number(numbers[i])) return wrong("has a part that is not a number");
    if (numbers[i].size() > 1 && numbers[i][0] == '0')
      return wrong("has a number with a leading zero");
    const char* end = numbers[i].data() + numbers[i].size();
    if (std::from_chars(numbers[i].data(), end, *locations[i]).ec != std::errc()) {
      return wrong("has a number that is too large");
    }
  }
  return version;
}

std::strong_ordering operator<=>(const Version& a, const Version& b) {
  if (const auto order = a.major <=> b.major; order != 0) return order;
  if (const auto order = a.minor <=> b.minor; order != 0) return order;
  if (const auto order = a.patch <=> b.patch; order != 0) return order;
  // A release is greater than its pre-releases.
  if (a.before.empty() || b.before.empty()) return a.before.empty() <=> b.before.empty();
  for (std::size_t i = 0; i < std::min(a.before.size(), b.before.size()); ++i) {
    if (const auto order = compare(a.before[i], b.before[i]); order != 0) return order;
  }
  return a.before.size() <=> b.before.size();
}

}  // namespace gantry
