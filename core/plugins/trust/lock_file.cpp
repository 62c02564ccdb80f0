// SPDX-License-Identifier: Apache-2.0
#include "core/plugins/trust/lock_file.hpp"

#include "core/plugins/manifest/manifest.hpp"

#include <gantry/utf8.hpp>

#include <algorithm>
#include <tuple>

namespace gantry {
namespace {

std::string check_locked_digest(const YamlValue& value) {
  const auto is_hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  return value.text.size() == 64 && std::all_of(value.text.begin(), value.text.end(), is_hex)
             ? ""
             : "64 lower-case hexadecimal digits";
}

std::string check_locked_version(const YamlValue& value) {
  return Version::parse(value.text).ok() ? "" : "major.minor.patch as in \"1.4.0\"";
}

std::string check_locked_id(const YamlValue& value) { return check_plugin_id(value.text); }

std::string check_locked_path(const YamlValue& value) {
  if (!value.text.starts_with('/')) return "an absolute path";
  for (std::size_t at = 0; at < value.text.size();) {
    const Utf8Character character = decode_utf8(value.text, at);
    if (character.size == 0 || is_text_control(character.number))
      return "a path without control characters";
    at += character.size;
  }
  return "";
}

constexpr YamlField kPlugin[] = {
    {.name = "id", .required = true, .check = check_locked_id},
    {.name = "version", .type = YamlType::quoted_text, .check = check_locked_version},
    {.name = "min_version", .type = YamlType::quoted_text, .check = check_locked_version},
    {.name = "manifest", .longest = 4096, .check = check_locked_path},
    {.name = "manifest_sha256", .type = YamlType::scalar, .check = check_locked_digest},
    {.name = "library", .longest = 4096, .check = check_locked_path},
    {.name = "library_sha256", .type = YamlType::scalar, .check = check_locked_digest},
};
constexpr YamlField kLock[] = {
    {.name = "plugins",
     .type = YamlType::list,
     .required = true,
     .items = YamlType::record,
     .longest = 4096,
     .fields = kPlugin},
};

struct LockedField {
  std::string_view name;
  std::string LockEntry::*value;
};
constexpr LockedField kCompared[] = {
    {"version", &LockEntry::version},
    {"manifest", &LockEntry::manifest},
    {"manifest_sha256", &LockEntry::manifest_sha256},
    {"library", &LockEntry::library},
    {"library_sha256", &LockEntry::library_sha256},
};

// Returns the fields that differ, at most `max`.
std::vector<LockDifference> fields_that_differ(const LockEntry& locked, const LockEntry& found,
                                               std::size_t max) {
  std::vector<LockDifference> all;
  const auto add = [&](std::string_view field, const std::string& a, const std::string& b) {
    if (all.size() < max) {
      all.push_back(
          {LockDifference::Kind::changed, found.id, found.manifest, std::string(field), a, b});
    }
  };
  for (const auto& [name, value] : kCompared) {
    if (!(locked.*value).empty() && !(found.*value).empty() && locked.*value != found.*value)
      add(name, locked.*value, found.*value);
    if (name != "version" || locked.min_version.empty()) continue;
    const auto min = Version::parse(locked.min_version), version = Version::parse(found.version);
    if (min.ok() && version.ok() && *version < *min)
      add("min_version", locked.min_version, found.version);
  }
  return all;
}

// An entry without a manifest is about every manifest of its id.
bool is_about(const LockEntry& locked, const LockEntry& found) {
  return locked.id == found.id && (locked.manifest.empty() || locked.manifest == found.manifest);
}

std::string yaml_quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

}  // namespace

std::string_view name_of(LockDifference::Kind kind) {
  constexpr std::string_view names[] = {"added", "removed", "changed"};
  return names[static_cast<std::size_t>(kind)];
}

Message describe(const LockDifference& one) {
  Message text(name_of(one.kind), " ", one.id);
  if (one.kind == LockDifference::Kind::changed)
    text.append({" ", one.field, ": locked ", one.locked, ", found ", one.found});
  if (!one.manifest.empty()) text.append({" (", one.manifest, ")"});
  return text;
}

std::span<const YamlField> lock_fields() { return kLock; }

Result<std::vector<LockEntry>> parse_lock_file(std::string_view text, const std::string& file) {
  GANTRY_TRY(const YamlDocument document, parse_yaml(text, file, {.bytes = kMaxLockFile}));
  GANTRY_TRY(const YamlRecord root, read_record(document, kLock));
  std::vector<LockEntry> entries;
  for (const YamlRecord& record : root.records("plugins")) {
    LockEntry entry;
    entry.id = record.text("id");
    entry.min_version = record.text("min_version");
    for (const auto& [name, value] : kCompared) entry.*value = record.text(name);
    entries.push_back(std::move(entry));
  }
  return entries;
}

std::string lock_file_text(std::vector<LockEntry> entries) {
  std::sort(entries.begin(), entries.end(), [](const LockEntry& a, const LockEntry& b) {
    return std::tie(a.id, a.manifest) < std::tie(b.id, b.manifest);
  });
  std::string text =
      "# The plugins that this host may use. Written by `gantry plugins lock`; `gantry plugins\n"
      "# verify` compares it with the files.\n";
  text += entries.empty() ? "plugins: []\n" : "plugins:\n";
  for (const LockEntry& entry : entries) {
    text += concat("  - id: ", entry.id, "\n");
    const auto add = [&](std::string_view name, const std::string& value) {
      if (!value.empty()) text += concat("    ", name, ": ", yaml_quoted(value), "\n");
    };
    add("version", entry.version);
    add("min_version", entry.min_version);
    for (const auto& [name, value] : kCompared) {
      if (name != "version") add(name, entry.*value);
    }
  }
  return text;
}

std::optional<LockDifference> difference(const LockEntry& locked, const LockEntry& found) {
  std::vector<LockDifference> all = fields_that_differ(locked, found, 1);
  return all.empty() ? std::nullopt : std::optional(std::move(all.front()));
}

std::vector<LockDifference> differences(const std::vector<LockEntry>& locked,
                                        const std::vector<LockEntry>& found) {
  std::vector<LockDifference> all;
  for (const LockEntry& one : found) {
    const LockEntry* first = nullptr;
    bool is_listed = false;
    for (const LockEntry& entry : locked) {
      if (!is_about(entry, one)) continue;
      if (first == nullptr) first = &entry;
      is_listed = is_listed || !difference(entry, one);
    }
    if (is_listed) continue;
    if (first == nullptr) {
      all.push_back({LockDifference::Kind::added, one.id, one.manifest, {}, {}, {}});
      continue;
    }
    std::vector<LockDifference> own = fields_that_differ(*first, one, std::size(kCompared) + 1);
    all.insert(all.end(), own.begin(), own.end());
  }
  for (const LockEntry& entry : locked) {
    const auto is_installed = [&](const LockEntry& one) { return is_about(entry, one); };
    if (std::none_of(found.begin(), found.end(), is_installed))
      all.push_back({LockDifference::Kind::removed, entry.id, entry.manifest, {}, {}, {}});
  }
  return all;
}

}  // namespace gantry
