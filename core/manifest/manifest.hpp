// SPDX-License-Identifier: Apache-2.0
//
// A plugin's manifest, schema gantry.plugin/v1: what a plugin claims about itself. MANIFEST.md is the vendor's page.
#pragma once

#include "core/format/payload_layout.hpp"
#include "core/manifest/config_option.hpp"
#include "core/manifest/version.hpp"

#include <gantry/result.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

// The schema that this reader knows, "1.0".
constexpr std::uint32_t kSchemaMajor = 1;
constexpr std::uint32_t kSchemaMinor = 0;

struct ManifestKey {
  // type key, equal byte for byte to the one in the container
  std::string key;
  // other type keys with the same payload: its loader serves them too
  std::vector<std::string> aliases;
  // absent: the core knows it, or only the loader does
  std::optional<PayloadLayout> payload;
};

struct ManifestDevice {
  // [a-z][a-z0-9_]*
  std::string name;
  // "gpu", "npu"; free text
  std::string kind;
  std::vector<std::string> vendor_ids, pci_ids;
  // DLPack's number; 0: none (`ext`), the core assigns one
  std::int32_t dlpack = 0;
};

struct ManifestSoname {
  std::string soname, min_version;
};
struct ManifestDriver {
  std::string name, min, max;
};

struct ManifestRequires {
  // absolute paths
  std::vector<std::string> files, device_nodes;
  // that the plugin opens by itself
  std::vector<ManifestSoname> libraries;
  // a statement: the plugin itself compares it at create
  std::optional<ManifestDriver> driver;
};

// empty lists: whatever the core was built for
struct ManifestTargets {
  std::vector<std::string> arch, os, libc;
  std::string isa;
};

struct ManifestAbi {
  std::uint32_t major = 0, min_minor = 0, max_minor = 0;
};

enum class Probe { automatic, always, never };

struct Manifest {
  // path as found; empty: a table given by the program
  std::string file;
  std::uint32_t schema_minor = kSchemaMinor;
  std::string id;
  Version version;
  std::string display_name, vendor, license, homepage, support;
  // as written
  std::string library;
  // absolute
  std::string library_path;
  std::string sha256, signature;
  bool self_contained = false;
  ManifestAbi abi;
  std::vector<ManifestKey> keys;
  std::vector<ManifestDevice> devices;
  // names of functions for compiled code; a trailing * matches any rest
  std::vector<std::string> globals;
  ManifestTargets targets;
  // `requires` is a word of the language
  ManifestRequires needs;
  bool enabled = true;
  bool required = false;
  std::int32_t priority = 0;
  Probe probe = Probe::automatic;
  std::int32_t probe_timeout_ms = 5000;
  std::vector<std::string> env_allow;
  // the manifest's own, then drop-ins, lowest precedence first
  std::vector<ConfigLayer> config;
  std::vector<ConfigOption> config_schema;
  std::vector<std::string> warnings;

  // The key whose loader serves `type_key`, itself or as an alias; NULL: not offered.
  const ManifestKey* key_for(std::string_view type_key) const;
  bool offers_global(std::string_view name) const;
  // "ACME NPU (acme.npu 2.3.1)" or "acme.npu 2.3.1"
  std::string title() const;
};

// Reads a manifest's text. Opens nothing but, for a relative library, the links of the manifest's own path.
//
// file     [in]   where the text came from; relative libraries are relative to its real directory
// returns  malformed with file, line, column, key path and a reason of D15x or D16x, or LIBRARY_PATH (D306)
Result<Manifest> read_manifest(std::string_view text, const std::string& file);
// The same from disk; not_found, unavailable or malformed as read_text_file.
Result<Manifest> open_manifest(const std::string& file);

// Absolute, or relative to `directory`; no "..", no directory. Whether it exists is not asked, and neither the working
// directory nor any search path plays a part.
//
// returns  malformed, reason LIBRARY_PATH, without a place: the rules and what was written
Result<std::string> resolve_library(std::string_view written, const std::string& directory);

// [a-z0-9]+([.-][a-z0-9]+)+, at most 64 bytes. Empty: fine; else what is expected.
std::string check_plugin_id(std::string_view id);
// [a-z][a-z0-9_]*
bool is_device_name(std::string_view name);

}  // namespace gantry
