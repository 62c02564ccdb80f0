// SPDX-License-Identifier: Apache-2.0
#include "core/plugins/trust/trust_file.hpp"

#include "tests/support/files.hpp"
#include "tests/support/minisign_signer.hpp"
#include "tests/support/schema.hpp"

#include <gmock/gmock.h>

namespace gantry {
namespace {

using test::MinisignSigner;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string key(const std::string& id, const std::string& more = "") {
  return "  - {id: " + id + ", public_key: \"" + MinisignSigner(id).public_key() + "\"" + more +
         "}\n";
}

TEST(TrustFile, HasDefaultsForAnEmptyText) {
  const auto trust = parse_trust_file("# nothing\n", "trust.yaml");

  ASSERT_TRUE(trust.ok()) << trust.error().message;
  EXPECT_TRUE(trust->keys.empty() && trust->trusted_uids.empty());
  EXPECT_FALSE(trust->requires_lock);
  for (const TierTraits& traits : tiers)
    EXPECT_EQ(trust->policy_of(traits.tier), SignaturePolicy::off) << traits.name;
}

TEST(TrustFile, ReadsEveryKey) {
  const auto trust = parse_trust_file(
      "keys:\n" + key("acme-2025", ", expires: \"2026-06-30\", comment: ACME, revoked: true") +
          key("acme-2026", ", replaces: acme-2025") +
          "policies: {default: warn, admin: require, program: off}\n"
          "trusted_uids: [998, 1000]\n"
          "lock: enforce\n",
      "trust.yaml");

  ASSERT_TRUE(trust.ok()) << trust.error().message;
  ASSERT_EQ(trust->keys.size(), 2u);
  EXPECT_EQ(trust->keys[0].expires, "2026-06-30");
  // date -u -d 2026-07-01 +%s
  EXPECT_EQ(trust->keys[0].ends, 1782864000);
  EXPECT_EQ(trust->keys[0].comment, "ACME");
  EXPECT_TRUE(trust->keys[0].revoked);
  EXPECT_FALSE(trust->keys[1].ends);
  EXPECT_EQ(trust->successor_of("acme-2025"), &trust->keys[1]);
  EXPECT_EQ(trust->successor_of("acme-2026"), nullptr);
  EXPECT_EQ(trust->find(trust->keys[1].key.number), &trust->keys[1]);
  EXPECT_EQ(trust->find({}), nullptr);
  EXPECT_EQ(trust->policy_of(Tier::program), SignaturePolicy::off);
  EXPECT_EQ(trust->policy_of(Tier::admin), SignaturePolicy::require);
  EXPECT_EQ(trust->policy_of(Tier::system), SignaturePolicy::warn);
  EXPECT_THAT(trust->trusted_uids, ElementsAre(998u, 1000u));
  EXPECT_TRUE(trust->requires_lock);
}

TEST(TrustFile, HasANameForEachTier) {
  std::string all = "policies: {";
  for (const char* tier :
       {"program", "config", "environment", "admin", "boot", "system", "core", "user"})
    all += std::string(tier) + ": require, ";

  const auto trust = parse_trust_file(all + "default: off}\n", "trust.yaml");

  ASSERT_TRUE(trust.ok()) << trust.error().message;
  for (const TierTraits& traits : tiers)
    EXPECT_EQ(trust->policy_of(traits.tier), SignaturePolicy::require) << traits.name;
}

struct BadTrustFile {
  const char* name;
  std::string text;
  std::string message;
};
class TrustFileRefuses : public testing::TestWithParam<BadTrustFile> {};

TEST_P(TrustFileRefuses, WithTheLocation) {
  const auto trust = parse_trust_file(GetParam().text, "trust.yaml");

  ASSERT_FALSE(trust.ok());
  EXPECT_EQ(trust.error().code, Code::malformed);
  EXPECT_THAT(trust.error().message, HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Each, TrustFileRefuses,
    testing::Values(
        BadTrustFile{"UnknownKey", "key: []\n", "trust.yaml:1:1: key: unknown key, did you mean "},
        BadTrustFile{"PublicKey", "keys: [{id: a, public_key: RWabc}]\n",
                     "trust.yaml:1:28: keys[0].public_key: expected the second line of a minisign "
                     "public key, 56 characters that begin with RW, found "},
        BadTrustFile{"Date", "keys:\n" + key("a", ", expires: \"2026-02-30\""),
                     "keys[0].expires: expected a date, \"2027-12-31\", found "},
        BadTrustFile{"DateText", "keys:\n" + key("a", ", expires: \"2026-2-3\""),
                     "keys[0].expires: expected a date, \"2027-12-31\", found "},
        BadTrustFile{"SameId", "keys:\n" + key("a") + key("a"),
                     "trust.yaml:3:10: keys[1].id: there is already a key \"a\""},
        BadTrustFile{"SameNumber",
                     "keys:\n" + key("a") + "  - {id: b, public_key: \"" +
                         MinisignSigner("a").public_key() + "\"}\n",
                     "keys[1].public_key: key \"a\" has the same number, "},
        BadTrustFile{"Replaces", "keys:\n" + key("a", ", replaces: b"),
                     "keys[0].replaces: no other key has the id \"b\""},
        BadTrustFile{"ReplacesItself", "keys:\n" + key("a", ", replaces: a"),
                     "keys[0].replaces: no other key has the id \"a\""},
        BadTrustFile{"KeyId", "keys:\n" + key("\"a b\""), "keys[0].id: expected letters"},
        BadTrustFile{"Policy", "policies: {admin: on}\n",
                     "policies.admin: expected off, warn or require, found"},
        BadTrustFile{"Uid", "trusted_uids: [-1]\n", "trusted_uids[0]: expected a user id, found"},
        BadTrustFile{"NoUid", "trusted_uids: [4294967295]\n", "expected a user id, found"},
        BadTrustFile{"Lock", "lock: always\n", "lock: expected optional or enforce, found"}),
    [](const auto& test) { return test.param.name; });

TEST(TrustSchema, EqualsTheFieldsOfTheReader) {
  const auto schema = test::Json::parse(test::file_text(test::config("schema/trust.schema.json")));

  test::expect_same(trust_fields(), schema, "");
}

// configs/trust.yaml contains every key with its default.
TEST(TrustExample, HasEveryFieldAndTheDefaults) {
  const std::string text = test::file_text(test::config("trust.yaml"));
  const YamlDocument document = parse_yaml(text, "trust.yaml").value();
  const auto trust = parse_trust_file(text, "trust.yaml");

  ASSERT_TRUE(trust.ok()) << trust.error().message;
  for (const YamlField& field : trust_fields())
    EXPECT_NE(document.root.find(field.name), nullptr) << field.name;
  EXPECT_TRUE(trust->keys.empty() && trust->trusted_uids.empty());
  EXPECT_EQ(trust->policies, TrustFile().policies);
  EXPECT_FALSE(trust->requires_lock);
}

}  // namespace
}  // namespace gantry
