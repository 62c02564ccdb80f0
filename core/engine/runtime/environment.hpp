// SPDX-License-Identifier: Apache-2.0
//
// Reads the environment variables of the core into a struct. No other file of the core reads them.
//
// In a process with more privileges than its caller (set-user-id, file capabilities,
// GANTRY_SECURE=1), variables that name files or plugins are ignored and listed in `ignored`.
#pragma once

#include "core/plugins/probe/probe_environment.hpp"

#include <gantry/result.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gantry {

struct Environment {
  bool elevated = false;
  // forbid() was called
  bool forbidden = false;
  // names of variables that are set but ignored
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
  // $XDG_DATA_HOME/gantry, ~/.local/share/gantry; empty: no home
  std::string data_directory;
  // XDG_DATA_HOME names it
  bool names_data_directory = false;
  // TMPDIR; empty: not set
  std::string temporary_directory;
  // PATH; empty: not set
  std::string program_path;
  // LD_BIND_NOW is set
  bool binds_early = false;
  // TVM_NUM_THREADS, else OMP_NUM_THREADS, as programs of TVM read them: (name, value); nullopt:
  // neither is set
  std::optional<std::pair<std::string, std::string>> threads;
  // CC; empty: not set
  std::string compiler;
  // GLSLANG; empty: not set
  std::string glslang;

  // Ignores the variables that name plugins and their options, and adds their names to `ignored`.
  // From then on variable() returns none.
  void forbid();

  // Returns one variable, for ${env:NAME} in a plugin's configuration; nullopt if it is not set or
  // forbidden. The caller must check that it may be read.
  std::optional<std::string> variable(const std::string& name) const;
  // True if the variable is set and variable() does not return it.
  bool ignores(const std::string& name) const;
};

// thread   any; no thread may change the environment during the call
Environment read_environment();

// Returns the number of threads that the environment states; 0: none.
//
// returns  invalid: not 1 to kMaxThreads
Result<int> stated_threads(const Environment& environment);

// Returns the variables for a child process that opens a plugin: a fixed list (HOME, LD_LIBRARY_PATH,
// PATH and the like), those that the plugin may read, and its options. In an elevated process
// GANTRY_SECURE alone.
//
// options  [in]   the beginning of the names of its options: "GANTRY_CONFIG_ACME_NPU__"
// allowed  [in]   env_allow of its manifest
// thread   as for read_environment()
ProbeEnvironment probe_environment(const std::string& options,
                                   const std::vector<std::string>& allowed);

// Returns the directory of a core's prefix (bin or lib) that stands for the directory of its file.
// The library of the Python package is in lib/python3.11/site-packages/gantry/lib, or in dist-packages:
// that is lib, beside which the plugins of the same environment are. Other directories are returned as they are.
std::string_view directory_in_prefix(std::string_view directory);

// Returns the directory of the library or program that contains the core; empty if it cannot be
// determined.
std::string library_directory();

// Returns the directory beside which the core's `share` is: directory_in_prefix() of library_directory(). Where the Python package is
// not in an environment (`pip install --target DIR`, a copied or frozen program), DIR/gantry, if wheels have put plugins into DIR/share.
std::string core_directory();

}  // namespace gantry
