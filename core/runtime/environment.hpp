// SPDX-License-Identifier: Apache-2.0
//
// The one place of the core that reads the environment: a struct that the rest is given.
//
// A process that runs with more rights than its caller (set-user-id, file capabilities, GANTRY_SECURE=1) takes no
// names of files or plugins from its environment: such variables are left out and listed in `ignored`.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gantry {

struct Environment {
  bool elevated = false;
  // names of variables set but not honoured
  std::vector<std::string> ignored;

  // GANTRY_PLUGIN_FILES, colon-separated
  std::optional<std::string> plugin_files;
  // GANTRY_ADD_PLUGIN_FILES
  std::optional<std::string> add_plugin_files;
  // GANTRY_DISABLE, globs
  std::optional<std::string> disable;
  // GANTRY_SELECT
  std::optional<std::string> select;
  // GANTRY_CONFIG_<ID>__<KEY>: ("ID__KEY", value)
  std::vector<std::pair<std::string, std::string>> plugin_config;
  // $XDG_CACHE_HOME/gantry, ~/.cache/gantry; empty: no home
  std::string cache_directory;
  // CC; empty: not set
  std::string compiler;
  // GLSLANG; empty: not set
  std::string glslang;

  // One variable, for ${env:NAME} in a plugin's configuration; the caller has checked that it may be asked for.
  static std::optional<std::string> variable(const std::string& name);
};

// thread   none may change the environment meanwhile
Environment read_environment();

// The directory that the core was loaded from (bin or lib), empty where the system does not tell.
std::string core_directory();

}  // namespace gantry
