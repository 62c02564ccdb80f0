// SPDX-License-Identifier: Apache-2.0
//
// Searches for manifests, by tiers (tier.hpp); the first has the highest precedence:
//
//   1  program      manifests, then directories
//   2  config       plugins.manifests, plugins.dirs
//   3  environment  GANTRY_PLUGIN_FILES (then 4 to 8 are not used) or GANTRY_ADD_PLUGIN_FILES
//   4  admin        /etc/gantry/plugins.d
//   5  boot         /run/gantry/plugins.d: until the next boot; containers
//   6  core         <directory of the core>/../share/gantry/plugins.d, if it is none of the others
//   7  user         $XDG_DATA_HOME/gantry/plugins.d
//   8  system       /usr/local/share/gantry/plugins.d, /usr/share/gantry/plugins.d: packages
//
// A privileged process uses tiers 1, 2, 4, 5 and 8. The working directory is never searched.
// Nothing here reads the environment: core/engine/runtime/environment.cpp passes the values.
//
// An entry of a directory is a manifest `*.yaml` or a directory that contains exactly one manifest.
// A directory `*.yaml.d` contains drop-ins. A file name may have an architecture before its suffix,
// `acme.npu.aarch64.yaml`: such entries of other architectures are skipped, and for this one the
// name is `acme.npu.yaml`, so that drop-ins and masks are the same on all hosts.
#pragma once

#include "core/plugins/manifest/candidate.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

struct HostDirectory {
  Tier tier = Tier::admin;
  std::string path;
};

// Returns the directories that only an administrator writes, highest precedence first.
std::vector<HostDirectory> host_plugin_directories();

struct PluginLocations {
  // of the program
  std::vector<std::string> manifests, directories;
  // stop after those
  bool exclusive = false;
  // path for messages; empty: no configuration
  std::string config_file;
  std::vector<std::string> config_manifests, config_directories;
  // values of the variables
  std::optional<std::string> plugin_files, add_plugin_files;
  std::vector<HostDirectory> host = host_plugin_directories();
  // of tiers `core` and `user`; empty: not searched
  std::string core_directory, user_directory;
  // file with `plugins: {user: false}`; empty: the user's directory is searched
  std::string user_excluded_by;
  // manifests_in() reads that directory if it is excluded
  bool reads_excluded = true;
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
  // the configuration excludes it: it is not read
  excluded,
  // not read, because the process is privileged
  privileged,
};

// One location, a line of the section "search:" in messages.
struct SearchLocation {
  Tier tier = Tier::program;
  // "/etc/gantry/plugins.d", "GANTRY_ADD_PLUGIN_FILES", "--plugins /x"
  std::string name;
  LocationState state = LocationState::absent;
  // its manifests, in order; for `replaced` those that are not used
  std::vector<std::string> files;
  // the directories that were listed; of `excluded` the one that manifests_in() lists
  std::vector<std::string> directories;
  // of `excluded`: the configuration's file; empty in exclusive mode
  std::string excluded_by;
  // of `replaced`, and of `excluded` if it would be: the variable; empty in exclusive mode
  std::string replaced_by;
};

struct FoundDropIn {
  // path, and the name of the manifest that the drop-in changes: "cuda.yaml"
  std::string file, name;
  std::size_t location = 0;
};

struct SearchResult {
  std::vector<SearchLocation> locations;
  // By location, then bytewise by path. Those that cannot be used have a reason: NOT_FOUND,
  // LIBRARY_PATH, MANIFEST_FOLDER.
  std::vector<Candidate> candidates;
  // in the order of application: the highest location last
  std::vector<FoundDropIn> drop_ins;
  // unreadable directories; the runtime adds variables that it ignores
  std::vector<Message> warnings;
};

// True if a file in a directory of a plugin is a manifest for this machine: "acme.npu.yaml", and
// "acme.npu.x86_64.yaml" on x86-64.
bool is_manifest_here(std::string_view name);

// Lists the manifests and drop-ins of all locations without reading them. Links are followed.
//
// costs    reads each directory and its subdirectories once
SearchResult search_plugins(const PluginLocations& locations);

// "4 /etc/gantry/plugins.d (1 file)", "3 GANTRY_ADD_PLUGIN_FILES (unset)"
std::string describe(const SearchLocation& location);

// Returns why the manifests of a location are not used, and what to change: "plugins.user is false in
// /etc/gantry/runtime.yaml: set it to true, or ..."; empty if they are used, or if the program or the
// privileges of the process exclude them.
std::string unused_text(const SearchLocation& location);

// Returns the manifests of a location. An excluded one is listed now, so that an error can name what
// it contains; what cannot be read is omitted.
//
// costs    of an excluded one: reads the directory and its subdirectories once
std::vector<std::string> manifests_in(const SearchLocation& location);

// States where packages and `gantry plugins install` write manifests; empty if a location has one.
std::string no_manifest_text(const std::vector<SearchLocation>& locations);

}  // namespace gantry
