// SPDX-License-Identifier: Apache-2.0
//
// A plugin's manifest, schema gantry.plugin/v1: what a plugin claims about itself. See sdk/MANIFEST.md.
#pragma once

#include "core/formats/payload_layout.hpp"
#include "core/formats/target/target_kind.hpp"
#include "core/plugins/manifest/config_option.hpp"
#include "core/plugins/manifest/version.hpp"

#include <gantry/result.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

// The schema that this reader supports, "1.0".
constexpr std::uint32_t kSchemaMajor = 1;
constexpr std::uint32_t kSchemaMinor = 0;

struct ManifestKey {
  // type key, equal byte for byte to the one in the container
  std::string key;
  // other type keys with the same payload, served by the same loader
  std::vector<std::string> aliases;
  // absent: the layout is built in or undeclared
  std::optional<PayloadLayout> payload;
};

struct ManifestDevice {
  // [a-z][a-z0-9_]*
  std::string name;
  // "gpu", "npu"; free text
  std::string kind;
  // DLPack's number; 0: none (`ext`), the runtime assigns one
  std::int32_t dlpack = 0;
};

struct ManifestSoname {
  std::string soname;
  // compared with the name of the file
  std::string min_version;
  // functions and version nodes that it must define
  std::vector<std::string> symbols;
};

struct ManifestRequires {
  // absolute paths
  std::vector<std::string> files, device_nodes;
  // libraries that the plugin opens itself
  std::vector<ManifestSoname> libraries;
};

// An empty list or text is not checked.
struct ManifestTargets {
  std::vector<std::string> arch, os, libc;
  std::string isa;
};

struct ManifestAbi {
  std::uint32_t major = 0, min_minor = 0, max_minor = 0;
};

enum class Probe { automatic, always, never };

struct Manifest {
  // path as found; empty: a table that the program passed
  std::string file;
  std::string id;
  Version version;
  std::string display_name, vendor, license, homepage, support;
  // as written
  std::string library;
  // absolute
  std::string library_path;
  std::string sha256;
  // digest of `file` as it was parsed; empty: not computed, see core/plugins/trust/trust.hpp
  std::string file_sha256;
  bool self_contained = false;
  ManifestAbi abi;
  std::vector<ManifestKey> keys;
  std::vector<ManifestDevice> devices;
  // names of functions for compiled code; a trailing * matches any rest
  std::vector<std::string> globals;
  ManifestTargets targets;
  std::vector<TargetKind> target_kinds;
  // key `requires`, which is a keyword of C++
  ManifestRequires needs;
  bool enabled = true;
  // the manifest, or the drop-in that has last changed `enabled`
  std::string switched_by;
  bool required = false;
  std::int32_t priority = 0;
  Probe probe = Probe::automatic;
  std::int32_t probe_timeout_ms = 5000;
  std::vector<std::string> env_allow;
  // values from the manifest, then from its drop-ins, lowest precedence first
  std::vector<ConfigLayer> config;
  std::vector<ConfigOption> config_schema;
  std::vector<Message> warnings;

  // Returns the key that is `type_key` or has it as an alias; NULL if there is none.
  const ManifestKey* key_for(std::string_view type_key) const;
  bool offers_global(std::string_view name) const;
  bool offers_device(std::string_view name) const;
  // "ACME NPU (acme.npu 2.3.1)" or "acme.npu 2.3.1"
  std::string title() const;
};

// Parses the text of a manifest. Opens no file; resolves the links in `file` to find the directory
// of a relative library.
//
// file     [in]   path of the manifest
// returns  malformed with file, line, column, key path and a reason of D15x or D16x, or
//          LIBRARY_PATH (D306)
Result<Manifest> read_manifest(std::string_view text, const std::string& file);
// The same for a text that is parsed.
//
// directory  [in]  of a relative library: real_directory_of() the file
Result<Manifest> read_manifest(const YamlDocument& document, const std::string& directory);
// The same from disk; also not_found, unavailable or malformed as read_text_file().
Result<Manifest> open_manifest(const std::string& file);

// Resolves the path of a library, which is absolute or relative to `directory` and contains no
// "..". Does not check that the file exists. Search paths and the working directory are not used.
//
// returns  malformed without a location, reason LIBRARY_PATH, with the path and the rules
Result<std::string> resolve_library(std::string_view written, const std::string& directory);

// Checks an id against [a-z0-9]+([.-][a-z0-9]+)+ and the limit of 64 bytes. Returns an empty text
// if it is valid, else a description of valid ids.
std::string check_plugin_id(std::string_view id);
// True for [a-z][a-z0-9_]*.
bool is_device_name(std::string_view name);

}  // namespace gantry
