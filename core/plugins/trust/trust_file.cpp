// SPDX-License-Identifier: Apache-2.0
#include "core/plugins/trust/trust_file.hpp"

#include "core/base/reason.hpp"
#include "core/base/text.hpp"

#include <gantry/quoted.hpp>

#include <algorithm>
#include <chrono>
#include <limits>

namespace gantry {
namespace {

constexpr std::string_view kPolicyNames[] = {"off", "warn", "require"};
constexpr std::string_view kLockNames[] = {"optional", "enforce"};
// Returns the end of a day, or nullopt if the text is no date of the form 2027-12-31.
std::optional<std::int64_t> end_of_day(std::string_view text) {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return std::nullopt;
  const auto year = parse_number<unsigned>(text.substr(0, 4));
  const auto month = parse_number<unsigned>(text.substr(5, 2));
  const auto day = parse_number<unsigned>(text.substr(8, 2));
  if (!year || !month || !day) return std::nullopt;
  const std::chrono::year_month_day date(std::chrono::year(static_cast<int>(*year)),
                                         std::chrono::month(*month), std::chrono::day(*day));
  if (!date.ok()) return std::nullopt;
  const std::chrono::sys_seconds end = std::chrono::sys_days(date) + std::chrono::days(1);
  return end.time_since_epoch().count();
}

std::string check_date(const YamlValue& value) {
  return end_of_day(value.text) ? "" : "a date, \"2027-12-31\"";
}

std::string check_public_key(const YamlValue& value) {
  const auto key = parse_minisign_key(value.text);
  if (key.ok()) return "";
  return "the second line of a minisign public key, 56 characters that begin with RW";
}

std::string check_key_id(const YamlValue& value) {
  const auto allowed = [](char c) { return is_identifier_character(c) || c == '.' || c == '-'; };
  return !value.text.empty() && std::all_of(value.text.begin(), value.text.end(), allowed)
             ? ""
             : "letters, digits, '.', '-' and '_'";
}

std::string check_uid(const YamlValue& value) {
  const auto uid = parse_number<uid_t>(value.text);
  return uid && *uid != std::numeric_limits<uid_t>::max() && !value.quoted ? "" : "a user id";
}

constexpr YamlField kKey[] = {
    {.name = "id", .required = true, .longest = 64, .check = check_key_id},
    {.name = "public_key", .required = true, .longest = 256, .check = check_public_key},
    {.name = "expires", .type = YamlType::quoted_text, .check = check_date},
    {.name = "comment", .longest = 256},
    {.name = "replaces", .longest = 64},
    {.name = "revoked", .type = YamlType::boolean},
};
constexpr YamlField policy_field(std::string_view name) {
  return {.name = name, .type = YamlType::choice, .choices = kPolicyNames};
}
// `default`, then the tiers
constexpr auto kPolicies = [] {
  std::array<YamlField, tier_count + 1> fields{policy_field("default")};
  for (const TierTraits& traits : tiers)
    fields[index_of(traits.tier) + 1] = policy_field(traits.name);
  return fields;
}();
constexpr YamlField kFields[] = {
    {.name = "keys",
     .type = YamlType::list,
     .items = YamlType::record,
     .longest = 64,
     .fields = kKey},
    {.name = "policies", .type = YamlType::record, .fields = kPolicies},
    {.name = "trusted_uids",
     .type = YamlType::list,
     .items = YamlType::scalar,
     .longest = 64,
     .check_item = check_uid},
    {.name = "lock", .type = YamlType::choice, .choices = kLockNames},
};

SignaturePolicy policy_in(const YamlRecord& policies, std::string_view tier) {
  const std::string name = policies.text(tier, policies.text("default", "off"));
  const auto* at = std::find(std::begin(kPolicyNames), std::end(kPolicyNames), name);
  return static_cast<SignaturePolicy>(at - std::begin(kPolicyNames));
}

Result<TrustedKey> key_of(const YamlRecord& record, const TrustFile& trust) {
  TrustedKey key;
  key.id = record.text("id");
  key.key = parse_minisign_key(record.text("public_key")).value();
  for (const TrustedKey& other : trust.keys) {
    if (other.id == key.id) {
      return record.error("id", "there is already a key ", quoted(key.id))
          .with_reason(reason::yaml_range.tag);
    }
    if (other.key.number == key.key.number) {
      return record
          .error("public_key", "key ", quoted(other.id), " has the same number, ",
                 text_of(key.key.number))
          .with_reason(reason::yaml_range.tag);
    }
  }
  key.expires = record.text("expires");
  key.ends = end_of_day(key.expires);
  key.comment = record.text("comment");
  key.replaces = record.text("replaces");
  key.revoked = record.boolean("revoked");
  return key;
}

}  // namespace

const TrustedKey* TrustFile::find(const MinisignKeyNumber& number) const {
  const auto at = std::find_if(keys.begin(), keys.end(),
                               [&](const TrustedKey& one) { return one.key.number == number; });
  return at == keys.end() ? nullptr : &*at;
}

const TrustedKey* TrustFile::successor_of(std::string_view id) const {
  const auto at = std::find_if(keys.begin(), keys.end(),
                               [&](const TrustedKey& one) { return one.replaces == id; });
  return at == keys.end() ? nullptr : &*at;
}

std::span<const YamlField> trust_fields() { return kFields; }

Result<TrustFile> parse_trust_file(std::string_view text, const std::string& file) {
  GANTRY_TRY(const YamlDocument document, parse_yaml(text, file));
  GANTRY_TRY(const YamlRecord root, read_record(document, kFields));
  TrustFile trust;
  trust.file = file;
  const std::vector<YamlRecord> keys = root.records("keys");
  for (const YamlRecord& record : keys) {
    GANTRY_TRY(TrustedKey key, key_of(record, trust));
    trust.keys.push_back(std::move(key));
  }
  for (const YamlRecord& record : keys) {
    const std::string replaced = record.text("replaces");
    const auto is_replaced = [&](const TrustedKey& one) {
      return one.id == replaced && one.id != record.text("id");
    };
    if (replaced.empty() || std::any_of(trust.keys.begin(), trust.keys.end(), is_replaced))
      continue;
    return record.error("replaces", "no other key has the id ", quoted(replaced))
        .with_reason(reason::yaml_range.tag);
  }
  const YamlRecord policies = root.record("policies");
  for (const TierTraits& traits : tiers)
    trust.policies[index_of(traits.tier)] = policy_in(policies, traits.name);
  for (const std::string& uid : root.texts("trusted_uids"))
    trust.trusted_uids.push_back(*parse_number<uid_t>(uid));
  trust.requires_lock = root.text("lock") == "enforce";
  return trust;
}

}  // namespace gantry
