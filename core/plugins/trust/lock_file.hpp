// SPDX-License-Identifier: Apache-2.0
//
// The lock file: the plugins that a host may use, with the digests of their files.
//
//     plugins:
//       - id: acme.npu
//         version: "2.3.1"
//         min_version: "2.3.1"
//         manifest: /usr/share/gantry/plugins.d/acme.npu.x86_64.yaml
//         manifest_sha256: 5f0c...
//         library: /usr/lib/x86_64-linux-gnu/gantry/plugins.d/acme.npu/libacme.so
//         library_sha256: e3b0...
//
// `gantry plugins lock` writes all fields. Only `id` is required; an absent field is not compared,
// so an entry of `id` and `min_version` accepts every later version.
#pragma once

#include "core/base/yaml/yaml_record.hpp"
#include "core/plugins/manifest/version.hpp"

#include <gantry/result.hpp>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

constexpr std::string_view kSystemLockFile = "/etc/gantry/plugins.lock";
constexpr std::size_t kMaxLockFile = std::size_t{1} << 20;

// An empty text is absent.
struct LockEntry {
  std::string id, version, min_version;
  // path and digest as 64 hexadecimal digits
  std::string manifest, manifest_sha256;
  std::string library, library_sha256;
};

// How an installed plugin differs from the lock file.
struct LockDifference {
  // the installed plugin, the one in the lock file, or both
  enum class Kind { added, removed, changed } kind = Kind::changed;
  std::string id, manifest;
  // changed: the field of LockEntry, and both values
  std::string field, locked, found;
};
std::string_view name_of(LockDifference::Kind kind);
// "changed acme.npu library_sha256: locked 5f0c..., found e3b0... (/usr/share/...)"
Message describe(const LockDifference& difference);

// The fields of a lock file.
std::span<const YamlField> lock_fields();

// returns  malformed, with the text of core/base/yaml
Result<std::vector<LockEntry>> parse_lock_file(std::string_view text, const std::string& file);
// The reverse. Sorted by id, then by manifest.
std::string lock_file_text(std::vector<LockEntry> entries);

// Returns the first field in which an installed plugin differs from an entry of its id; nullopt if
// there is none.
//
// found    [in]   complete, except that an empty digest is not compared
std::optional<LockDifference> difference(const LockEntry& locked, const LockEntry& found);

// Compares all plugins, by id and manifest. An installed plugin that differs from every entry of
// its id and manifest yields each field that differs from the first.
std::vector<LockDifference> differences(const std::vector<LockEntry>& locked,
                                        const std::vector<LockEntry>& found);

}  // namespace gantry
