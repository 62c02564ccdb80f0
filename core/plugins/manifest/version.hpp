// SPDX-License-Identifier: Apache-2.0
//
// Semantic versions: 1.4.0, 2.0.0-rc.1+build7.
#pragma once

#include <gantry/result.hpp>

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

struct Version {
  std::uint32_t major = 0, minor = 0, patch = 0;
  // pre-release identifiers after "-"; empty for a release
  std::vector<std::string> before;
  // as written
  std::string text;

  // returns  invalid: `version "1.4" has 2 numbers, expected major.minor.patch ...`
  static Result<Version> parse(std::string_view text);
};

// The order of SemVer 2.0, section 11, which ignores build metadata.
std::strong_ordering operator<=>(const Version& a, const Version& b);
inline bool operator==(const Version& a, const Version& b) { return (a <=> b) == 0; }

}  // namespace gantry
