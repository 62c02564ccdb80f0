// SPDX-License-Identifier: Apache-2.0
//
// Searches for manifests, by tiers; the first has the highest precedence:
//
//   1  the program: manifests, then directories
//   2  the configuration: plugins.manifests, plugins.dirs
//   3  GANTRY_PLUGIN_FILES (then 4 to 9 are not used) or GANTRY_ADD_PLUGIN_FILES
//   4  /etc/gantry/plugins.d                      administrators
//   5  /run/gantry/plugins.d                      until the next boot; containers
//   7  /usr/local/share/gantry/plugins.d, /usr/share/gantry/plugins.d      packages
//   8  <directory of the core>/../share/gantry/plugins.d, if it is none of the above
//   9  $XDG_DATA_HOME/gantry/plugins.d            the user's
//
// A privileged process uses tiers 1, 2, 4, 5 and 7. The working directory is never searched.
// Nothing here reads the environment: core/engine/runtime/environment.cpp passes the values.
//
// An entry of a directory is a manifest `*.yaml` or a directory that contains exactly one manifest.
// A directory `*.yaml.d` contains drop-ins. A file name may have an architecture before its suffix,
// `acme.npu.aarch64.yaml`: such entries of other architectures are skipped, and for this one the
// name is `acme.npu.yaml`, so that drop-ins and masks are the same on all hosts.
#pragma once

#include "core/plugins/manifest/reason.hpp"

#include <optional>
#include <string>
#include <vector>

namespace gantry {

struct SystemDirectory {
  int tier = 4;
  std::string path;
};

// Returns the directories that only an administrator writes, highest precedence first.
std::vector<SystemDirectory> system_plugin_directories();

struct PluginLocations {
  // tier 1
  std::vector<std::string> manifests, directories;
  // stop after tier 1
  bool exclusive = false;
  // path for messages; empty: no configuration
  std::string config_file;
  // tier 2
  std::vector<std::string> config_manifests, config_directories;
  // tier 3, values of the variables
  std::optional<std::string> plugin_files, add_plugin_files;
  // tiers 4 to 7
  std::vector<SystemDirectory> system = system_plugin_directories();
  // of tiers 8 and 9; empty: not searched
  std::string core_directory, user_directory;
  // the process has more privileges than its caller
  bool privileged = false;
};

enum class LocationState {
  // exists; its manifests are used
  searched,
  // no such directory
  absent,
  // environment variable that is not set
  unset,
  // replaced by GANTRY_PLUGIN_FILES or exclusive mode: its manifests are listed but not used
  replaced,
  // not read, because the process is privileged
  privileged,
};

// One location, a line of the section "search:" in messages.
struct SearchLocation {
  int tier = 0;
  // "/etc/gantry/plugins.d", "GANTRY_ADD_PLUGIN_FILES", "--plugins /x"
  std::string name;
  LocationState state = LocationState::absent;
  // its manifests, in order; for `replaced` those that are not used
  std::vector<std::string> files;
  // the directories that were listed
  std::vector<std::string> directories;
  // of `replaced`: the variable; empty in exclusive mode
  std::string replaced_by;
};

struct FoundManifest {
  // path as composed, not canonical
  std::string file;
  // file name without an architecture, by which manifests replace and mask each other
  std::string name;
  // index into SearchResult::locations
  std::size_t location = 0;
  // number 0, or why it cannot be used: not_found, library_path, manifest_directory
  Reason reason;
  // one sentence for `reason`
  std::string text;
};

struct FoundDropIn {
  // path, and the name of the manifest that the drop-in changes: "cuda.yaml"
  std::string file, name;
  std::size_t location = 0;
};

struct SearchResult {
  std::vector<SearchLocation> locations;
  // by location, then bytewise by path
  std::vector<FoundManifest> manifests;
  // in the order of application: the highest location last
  std::vector<FoundDropIn> drop_ins;
  // unreadable directories; the runtime adds variables that it ignores
  std::vector<Message> warnings;
};

// Lists the manifests and drop-ins of all locations without reading them. Links are followed.
//
// costs    reads each directory and its subdirectories once
SearchResult search_plugins(const PluginLocations& locations);

// "4 /etc/gantry/plugins.d (1 file)", "3 GANTRY_ADD_PLUGIN_FILES (unset)"
std::string describe(const SearchLocation& location);

// States where packages and `gantry plugins install` write manifests; empty if a location has one.
std::string no_manifest_text(const std::vector<SearchLocation>& locations);

}  // namespace gantry
