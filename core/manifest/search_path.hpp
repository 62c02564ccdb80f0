// SPDX-License-Identifier: Apache-2.0
//
// Where plugins are looked for, first has highest precedence:
//
//   1  the program: manifests, then directories
//   2  the configuration: plugins.manifests, plugins.dirs
//   3  GANTRY_PLUGIN_FILES (then 4 to 8 count for nothing) or GANTRY_ADD_PLUGIN_FILES
//   4  /etc/gantry/plugins.d
//   8  <directory of the core>/../share/gantry/plugins.d
//
// 5 (/run), 6 (/usr/local), 7 (/usr) and the user's directories keep their numbers free. The working directory is
// never searched and nothing here reads the environment: core/runtime/environment.cpp passes values in.
//
// An entry of a directory is a manifest `*.yaml`, or a directory that holds exactly one; `*.yaml.d` holds drop-ins.
#pragma once

#include "core/manifest/reason.hpp"

#include <optional>
#include <string>
#include <vector>

namespace gantry {

struct PluginLocations {
  // tier 1
  std::vector<std::string> manifests, directories;
  // stop after tier 1
  bool exclusive = false;
  // for display; empty: no configuration
  std::string config_file;
  // tier 2
  std::vector<std::string> config_manifests, config_directories;
  // tier 3, values of the variables
  std::optional<std::string> plugin_files, add_plugin_files;
  // tier 4
  std::string admin_directory = "/etc/gantry/plugins.d";
  // tier 8; empty: not searched
  std::string core_directory;
};

enum class LocationState {
  // there, and its entries count
  searched,
  // no such directory
  absent,
  // a variable that is not set
  unset,
  // by GANTRY_PLUGIN_FILES or exclusive mode: looked at for the message, used for nothing
  replaced,
};

// One line of "search:".
struct SearchLocation {
  int tier = 0;
  // "/etc/gantry/plugins.d", "GANTRY_ADD_PLUGIN_FILES", "--plugins /x"
  std::string name;
  LocationState state = LocationState::absent;
  // manifests there, in order; for `replaced` those that would have been
  std::vector<std::string> files;
};

struct FoundManifest {
  // path as composed, not canonical
  std::string file;
  // file name: what replaces and masks by
  std::string name;
  // index of places
  std::size_t location = 0;
  // number 0, or why it is no manifest: not_found, unreadable, manifest_folder
  Reason reason;
  // the sentence for it
  std::string text;
};

struct FoundDropIn {
  // name of the manifest that it changes: "cuda.yaml"
  std::string file, name;
  std::size_t location = 0;
};

struct SearchResult {
  std::vector<SearchLocation> locations;
  // by place, then bytewise by path
  std::vector<FoundManifest> manifests;
  // in the order they are applied: the highest place last
  std::vector<FoundDropIn> drop_ins;
  // relative entries, unreadable directories
  std::vector<std::string> warnings;
};

// Lists manifests; reads none. Directories are read once, links followed.
// costs    one readdir for each directory and each directory in it
SearchResult search_plugins(const PluginLocations& locations);

// "4 /etc/gantry/plugins.d (1 file)", "3 GANTRY_ADD_PLUGIN_FILES (unset)"
std::string describe(const SearchLocation& location);

}  // namespace gantry
