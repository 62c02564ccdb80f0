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
// An entry of a directory is a manifest `*.yaml`, or a folder that holds exactly one; `*.yaml.d` holds drop-ins.
#pragma once

#include "core/manifest/reason.hpp"

#include <optional>
#include <string>
#include <vector>

namespace gantry {

struct PluginPlaces {
  std::vector<std::string> manifests, directories;  // tier 1
  bool exclusive = false;                           // stop after tier 1
  std::string config_file;                          // for display; empty: no configuration
  std::vector<std::string> config_manifests, config_directories;  // tier 2
  std::optional<std::string> plugin_files, add_plugin_files;      // tier 3, values of the variables
  std::string admin_directory = "/etc/gantry/plugins.d";          // tier 4
  std::string core_directory;                                     // tier 8; empty: not searched
};

enum class PlaceState {
  searched,  // there, and its entries count
  absent,    // no such directory
  unset,     // a variable that is not set
  replaced,  // by GANTRY_PLUGIN_FILES or exclusive mode: looked at for the message, used for nothing
};

// One line of "search:".
struct SearchPlace {
  int tier = 0;
  std::string name;  // "/etc/gantry/plugins.d", "GANTRY_ADD_PLUGIN_FILES", "--plugins /x"
  PlaceState state = PlaceState::absent;
  std::vector<std::string>
      files;  // manifests there, in order; for `replaced` those that would have been
};

struct FoundManifest {
  std::string file;       // path as composed, not canonical
  std::string name;       // file name: what replaces and masks by
  std::size_t place = 0;  // index of places
  Reason reason;     // number 0, or why it is no manifest: not_found, unreadable, manifest_folder
  std::string text;  // the sentence for it
};

struct FoundDropIn {
  std::string file, name;  // name of the manifest that it changes: "cuda.yaml"
  std::size_t place = 0;
};

struct SearchResult {
  std::vector<SearchPlace> places;
  std::vector<FoundManifest> manifests;  // by place, then bytewise by path
  std::vector<FoundDropIn> drop_ins;     // in the order they are applied: the highest place last
  std::vector<std::string> warnings;     // relative entries, unreadable directories
};

// Lists manifests; reads none. Directories are read once, links followed.
// costs    one readdir for each directory and each folder in it
SearchResult search_plugins(const PluginPlaces& places);

// "4 /etc/gantry/plugins.d (1 file)", "3 GANTRY_ADD_PLUGIN_FILES (unset)"
std::string describe(const SearchPlace& place);

}  // namespace gantry
