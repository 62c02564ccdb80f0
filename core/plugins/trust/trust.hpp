// SPDX-License-Identifier: Apache-2.0
//
// Decides whose plugins may run on this host. Entry header of the component; configs/TRUST.md
// describes it for administrators.
//
//     manifest: ownership -> signature -> lock file      when plugins are found
//     library:  ownership -> digest -> lock file         before it is inspected and opened
//
// A check that nothing configures costs nothing, except that of ownership.
#pragma once

#include "core/base/mapped_file.hpp"
#include "core/plugins/manifest/candidate.hpp"
#include "core/plugins/trust/lock_file.hpp"
#include "core/plugins/trust/trust_file.hpp"

#include <gantry/ownership.hpp>
#include <gantry/result.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

struct TrustOptions {
  std::string trust_file = std::string(kSystemTrustFile);
  std::string lock_file = std::string(kSystemLockFile);
  // that the core was loaded from; empty: unknown. See TrustedOwners::add_writers_of()
  std::string core_directory;
  // the process has more privileges than its caller: only root is trusted
  bool elevated = false;
  // seconds since 1970; nullopt: the system's time
  std::optional<std::int64_t> now;
};

class Trust {
 public:
  // Reads both files where they exist. Without a trust file no signature is required; without a
  // lock file every plugin may be used.
  //
  // returns  malformed: an error in a file; unavailable, reason PERMISSIONS: others can change it
  static Result<Trust> open(const TrustOptions& options);

  // A pass over the manifests of a search, which checks shared directories once.
  Ownership ownership() const { return Ownership(owners_); }

  // True if check_manifest() uses the text of manifests of a tier, for a signature or a digest.
  bool uses_text(Tier tier) const;

  // Checks a parsed manifest, its drop-ins and the path of its library. Stores the digest of the
  // manifest in it if the lock file has one, for check_library().
  //
  // text     [in]   of the manifest, as it was parsed; any if uses_text() is false
  // warnings [out]  one line, for a plugin that is used, if the policy of the tier is `warn` and the
  //                 signature is refused
  // returns  PERMISSIONS; with policy `require` SIGNATURE_MISSING, SIGNATURE_INVALID,
  //          SIGNATURE_KEY, KEY_EXPIRED, KEY_REVOKED, DIGEST_REQUIRED; LOCK_MISSING, LOCK_MISMATCH
  Status check_manifest(Candidate& candidate, std::string_view text, Ownership& ownership,
                        std::vector<Message>& warnings) const;

  // Checks the library that is mapped. The bytes are read only if the manifest or the lock file has
  // its digest. Manifest and library must match the same entry of the lock file.
  //
  // returns  PERMISSIONS, DIGEST, LOCK_MISMATCH
  // costs    O(bytes) for the digest: about 0.6 ms for each MiB on a CPU with SHA instructions
  Status check_library(const Manifest& manifest, const MappedFile& library) const;

  const TrustFile& trust_file() const { return trust_; }
  // path; the file need not exist
  const std::string& lock_file() const { return lock_file_; }

 private:
  Trust() = default;
  Status check_signature(const Candidate& candidate, std::string_view text) const;
  Status check_lock(Candidate& candidate, std::string_view text) const;

  TrustedOwners owners_;
  TrustFile trust_;
  std::string lock_file_;
  // nullopt: there is no file
  std::optional<std::vector<LockEntry>> lock_;
  std::optional<std::int64_t> now_;
};

}  // namespace gantry
