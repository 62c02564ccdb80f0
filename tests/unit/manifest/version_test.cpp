// SPDX-License-Identifier: Apache-2.0
#include "core/plugins/manifest/version.hpp"

#include <gtest/gtest.h>

namespace gantry {
namespace {

// The example of SemVer 2.0, section 11, and numbers that exceed any integer type.
TEST(Version, HasTheOrderOfSemVer) {
  const std::string_view rising[] = {
      "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta",
      "1.0.0-beta",  "1.0.0-beta.2",  "1.0.0-beta.11",
      "1.0.0-rc.1",  "1.0.0-rc.2",    "1.0.0-rc.99999999999999999999",
      "1.0.0",       "1.0.1",         "1.2.0",
      "1.10.0",      "2.0.0"};
  for (std::size_t i = 0; i < std::size(rising); ++i) {
    for (std::size_t j = 0; j < std::size(rising); ++j) {
      EXPECT_EQ(Version::parse(rising[i]).value() <=> Version::parse(rising[j]).value(), i <=> j)
          << rising[i] << " " << rising[j];
    }
  }
}

TEST(Version, IgnoresBuildMetadata) {
  EXPECT_EQ(Version::parse("1.0.0+a").value(), Version::parse("1.0.0+b.7").value());
}

TEST(Version, HasNumbersUpTo32Bits) {
  const Version largest = Version::parse("4294967295.4294967295.4294967295").value();

  EXPECT_EQ(largest.major, UINT32_MAX);
  EXPECT_EQ(largest.patch, UINT32_MAX);
}

TEST(Version, RejectsInvalidTexts) {
  const std::pair<std::string_view, std::string_view> bad[] = {
      {"", "has 1 numbers"},
      {"1.4", "has 2 numbers"},
      {"1.2.3.4", "has 4 numbers"},
      {"v1.2.3", "has a part that is not a number"},
      {"1.2.", "has a part that is not a number"},
      {"1.02.3", "has a number with a leading zero"},
      {"1.2.99999999999", "has a number that is too large"},
      {"4294967296.0.0", "has a number that is too large"},
      {"1.2.3-", "has an empty or invalid pre-release identifier"},
      {"1.2.3-a..b", "has an empty or invalid pre-release identifier"},
      {"1.2.3-01", "has a number with a leading zero"},
      {"1.2.3+", "has an empty or invalid build identifier"},
      {"1.2.3+a_b", "has an empty or invalid build identifier"}};
  for (const auto& [text, why] : bad) {
    const Result<Version> version = Version::parse(text);
    ASSERT_FALSE(version.ok()) << text;
    EXPECT_EQ(version.error().code, Code::invalid);
    EXPECT_EQ(version.error().message,
              concat("version \"", text, "\" ", why,
                     ", expected major.minor.patch as in 1.4.0 or 2.0.0-rc.1"));
  }
}

TEST(Version, AcceptsEveryCharacterOfAnIdentifier) {
  for (const std::string_view text :
       {"1.0.0-0", "1.0.0-10", "1.0.0-9", "1.0.0-0a", "1.0.0-aZ", "1.0.0-Az", "1.0.0-a-b"}) {
    EXPECT_TRUE(Version::parse(text).ok()) << text;
  }
}

TEST(Version, RejectsTheNeighboursOfTheCharactersOfAnIdentifier) {
  for (const char c : std::string_view("/:@[`{ ")) {
    EXPECT_FALSE(Version::parse(concat("1.0.0-a", std::string(1, c))).ok()) << c;
  }
}

}  // namespace
}  // namespace gantry
