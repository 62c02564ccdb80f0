// SPDX-License-Identifier: Apache-2.0
//
// The trust file: which keys sign manifests, which tiers require a signature, and which users may
// own plugins. configs/trust.yaml contains every key; configs/TRUST.md describes its use.
#pragma once

#include "core/base/yaml/yaml_record.hpp"
#include "core/plugins/manifest/tier.hpp"
#include "core/plugins/trust/minisign.hpp"

#include <gantry/result.hpp>

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gantry {

constexpr std::string_view kSystemTrustFile = "/etc/gantry/trust.yaml";

// The stricter ones are greater.
enum class SignaturePolicy { off, warn, require };

struct TrustedKey {
  // name for messages and `replaces`
  std::string id;
  MinisignKey key;
  // the last day, UTC: "2027-12-31"; empty: does not expire
  std::string expires;
  // seconds since 1970: the end of that day
  std::optional<std::int64_t> ends;
  std::string comment;
  // id of the older key that this one replaces; empty: none
  std::string replaces;
  bool revoked = false;
};

struct TrustFile {
  // path; empty: there is none
  std::string file;
  std::vector<TrustedKey> keys;
  // by index_of(tier)
  std::array<SignaturePolicy, tier_count> policies{};
  std::vector<uid_t> trusted_uids;
  // lock: enforce
  bool requires_lock = false;

  SignaturePolicy policy_of(Tier tier) const { return policies[index_of(tier)]; }
  // NULL: unknown
  const TrustedKey* find(const MinisignKeyNumber& number) const;
  // The key that replaces `id`; NULL if there is none.
  const TrustedKey* successor_of(std::string_view id) const;
};

// The fields of a trust file; equal to configs/schema/trust.schema.json.
std::span<const YamlField> trust_fields();

// returns  malformed, with the text of core/base/yaml: "<file>:<line>:<column>: keys[0].expires: ..."
Result<TrustFile> parse_trust_file(std::string_view text, const std::string& file);

}  // namespace gantry
