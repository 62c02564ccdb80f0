// SPDX-License-Identifier: Apache-2.0
#include "core/plugins/trust/trust.hpp"

#include "core/base/digest/digest.hpp"
#include "core/base/text.hpp"
#include "core/base/text_file.hpp"
#include "core/plugins/trust/signature_file.hpp"

#include <algorithm>
#include <chrono>

namespace gantry {
namespace {

// Reads a file of the administrator. nullopt: it does not exist.
Result<std::optional<std::string>> read_own_file(const std::string& path, std::size_t max,
                                                 const TrustedOwners& owners) {
  if (path.empty()) return std::optional<std::string>();
  GANTRY_CHECK(Ownership(owners).check(path));
  auto text = read_text_file(path, max);
  if (text.ok()) return std::optional(*std::move(text));
  if (text.error().code == Code::not_found) return std::optional<std::string>();
  return std::move(text).failure();
}

// "key acme-2026 (1EF454D74B1F79B2)"
std::string key_text(const TrustedKey& key) {
  return concat("key ", key.id, " (", text_of(key.key.number), ")");
}

// A key that can no longer be used.
Failure unusable_key(const std::string& file, const TrustedKey& key, const TrustFile& trust,
                     std::string_view why, const Reason& reason) {
  const TrustedKey* successor = trust.successor_of(key.id);
  return unavailable(file, " is signed with ", key_text(key), ", which ", why,
                     successor != nullptr ? concat("; ", key_text(*successor), " replaces it")
                                          : std::string(),
                     ": install a version that is signed with a valid key")
      .with_reason(reason.tag);
}

LockEntry entry_of(const Manifest& manifest) {
  LockEntry entry;
  entry.id = manifest.id;
  entry.version = manifest.version.text;
  entry.manifest = manifest.file;
  entry.manifest_sha256 = manifest.file_sha256;
  entry.library = manifest.library_path;
  return entry;
}

}  // namespace

Result<Trust> Trust::open(const TrustOptions& options) {
  Trust trust;
  trust.now_ = options.now;
  trust.lock_file_ = options.lock_file;
  const TrustedOwners owners = TrustedOwners::of_process(options.elevated);
  auto text = read_own_file(options.trust_file, YamlLimits().bytes, owners);
  if (text.ok() && *text) {
    auto parsed = parse_trust_file(**text, options.trust_file);
    if (parsed.ok())
      trust.trust_ = std::move(*parsed);
    else
      text = std::move(parsed).failure();
  }
  if (!text.ok())
    return std::move(text).failure().at("while reading the trust file ", options.trust_file);
  auto lock = read_own_file(options.lock_file, kMaxLockFile, owners);
  if (lock.ok() && *lock) {
    auto parsed = parse_lock_file(**lock, options.lock_file);
    if (parsed.ok()) {
      trust.lock_ = std::move(*parsed);
    } else {
      lock = std::move(parsed).failure().at(
          "repair the lock file, or remove it and write it again with `gantry plugins lock`");
    }
  }
  if (!lock.ok())
    return std::move(lock).failure().at("while reading the lock file ", options.lock_file);
  trust.owners_ = TrustedOwners::of_process(options.elevated, trust.trust_.trusted_uids);
  trust.owners_.add_writers_of(options.core_directory);
  return trust;
}

bool Trust::uses_text(Tier tier) const {
  if (trust_.policy_of(tier) != SignaturePolicy::off) return true;
  return lock_ && std::ranges::any_of(*lock_, [](const LockEntry& entry) {
           return !entry.manifest_sha256.empty();
         });
}

Status Trust::check_manifest(Candidate& candidate, std::string_view text, Ownership& ownership,
                             std::vector<Message>& warnings) const {
  const Manifest& manifest = *candidate.manifest;
  GANTRY_CHECK(ownership.check(candidate.file));
  for (const std::string& drop_in : candidate.drop_ins) GANTRY_CHECK(ownership.check(drop_in));
  GANTRY_CHECK(ownership.check(manifest.library_path));
  const SignaturePolicy policy = trust_.policy_of(candidate.tier);
  if (policy != SignaturePolicy::off) {
    const Status is_signed = check_signature(candidate, text);
    if (!is_signed.ok() && policy == SignaturePolicy::require) return is_signed;
    if (!is_signed.ok()) {
      warnings.push_back(Message("plugin ", candidate.title(), ": ",
                                 gantry::name_of(reason_of(is_signed.error())), ": ",
                                 is_signed.error().message, "; it is used, because the policy of ",
                                 "tier ", gantry::name_of(candidate.tier), " is warn"));
    }
  }
  return check_lock(candidate, text);
}

Status Trust::check_signature(const Candidate& candidate, std::string_view text) const {
  const std::string file = signature_path(candidate.file);
  GANTRY_TRY(const auto found, read_signature_file(file));
  if (!found) {
    return unavailable(file, " does not exist, and the manifests of ", candidate.location_name,
                       " (tier ", gantry::name_of(candidate.tier), ") need a signature")
        .with_reason(reason::signature_missing.tag);
  }
  const MinisignSignature& signature = *found;
  const TrustedKey* key = trust_.find(signature.number);
  if (key == nullptr) {
    return unavailable(file, " is made with key ", text_of(signature.number), ", which ",
                       trust_.file, " does not have among its ", trust_.keys.size(),
                       trust_.keys.size() == 1 ? " key" : " keys")
        .with_reason(reason::signature_key.tag);
  }
  if (!verifies(signature, key->key, as_bytes(text))) {
    return malformed(no_offset, file, " is not a signature of ", candidate.file, " with ",
                     key_text(*key), ": one of the two files was changed")
        .with_reason(reason::signature_invalid.tag);
  }
  if (key->revoked) {
    return unusable_key(candidate.file, *key, trust_, "is revoked", reason::key_revoked);
  }
  const std::int64_t now = now_ ? *now_
                                : std::chrono::duration_cast<std::chrono::seconds>(
                                      std::chrono::system_clock::now().time_since_epoch())
                                      .count();
  if (key->ends && now >= *key->ends) {
    return unusable_key(candidate.file, *key, trust_, concat("expired after ", key->expires),
                        reason::key_expired);
  }
  if (candidate.manifest->sha256.empty()) {
    return malformed(no_offset, candidate.file, " is signed and has no sha256 of its library: the ",
                     "signature does not cover the library")
        .with_reason(reason::digest_required.tag);
  }
  return {};
}

Status Trust::check_lock(Candidate& candidate, std::string_view text) const {
  if (!lock_ && !trust_.requires_lock) return {};
  if (!lock_) {
    return unavailable("lock file ", lock_file_, " does not exist, and ", trust_.file,
                       " requires it (lock: enforce): write it with `gantry plugins lock`")
        .with_reason(reason::lock_missing.tag);
  }
  const auto has_digest = [&](const LockEntry& entry) {
    return entry.id == candidate.manifest->id && !entry.manifest_sha256.empty();
  };
  if (std::any_of(lock_->begin(), lock_->end(), has_digest)) {
    Manifest with_digest = *candidate.manifest;
    with_digest.file_sha256 = hex_text(sha256(as_bytes(text)));
    candidate.manifest = std::make_shared<const Manifest>(std::move(with_digest));
  }
  const Manifest& manifest = *candidate.manifest;
  const LockEntry found = entry_of(manifest);
  std::optional<LockDifference> first;
  for (const LockEntry& entry : *lock_) {
    if (entry.id != manifest.id) continue;
    std::optional<LockDifference> here = difference(entry, found);
    if (!here) return {};
    if (!first || entry.manifest == found.manifest) first = std::move(here);
  }
  if (first) {
    return unavailable("lock file ", lock_file_, " lists ", manifest.id, " with ", first->field,
                       " ", first->locked, ", found ", first->found,
                       ": if the change is intended, write the file again")
        .with_reason(reason::lock_mismatch.tag);
  }
  return unavailable("lock file ", lock_file_, " does not list ", manifest.id,
                     ": if the plugin may be used, write the file again")
      .with_reason(reason::lock_missing.tag);
}

Status Trust::check_library(const Manifest& manifest, const MappedFile& library) const {
  // Not remembered from the search: a process may open a plugin days later.
  GANTRY_CHECK(ownership().check(manifest.library_path));
  std::string digest;
  const auto found_digest = [&]() -> const std::string& {
    if (digest.empty()) digest = hex_text(sha256(library.bytes()));
    return digest;
  };
  if (!manifest.sha256.empty() && found_digest() != manifest.sha256) {
    return malformed(no_offset, manifest.file, " states sha256 ", manifest.sha256, ", ",
                     manifest.library_path, " has ", digest,
                     ": the two belong to different installations, or the library was changed")
        .with_reason(reason::digest.tag);
  }
  if (!lock_) return {};
  const LockEntry* first = nullptr;
  for (const LockEntry& entry : *lock_) {
    if (entry.id != manifest.id || difference(entry, entry_of(manifest))) continue;
    if (entry.library_sha256.empty() || entry.library_sha256 == found_digest()) return {};
    if (first == nullptr) first = &entry;
  }
  if (first == nullptr) return {};
  return unavailable("lock file ", lock_file_, " lists ", manifest.id, " with library_sha256 ",
                     first->library_sha256, ", ", manifest.library_path, " has ", digest,
                     ": if the change is intended, write the file again")
      .with_reason(reason::lock_mismatch.tag);
}

}  // namespace gantry
