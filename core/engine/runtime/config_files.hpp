// SPDX-License-Identifier: Apache-2.0
//
// The files that make up a configuration, in the manner of systemd:
//
//     /etc/gantry/runtime.yaml, else /run/..., else /usr/share/...        one base file
//     */gantry/runtime.yaml.d/*.yaml of the same three directories        drop-ins, bytewise by name
//
// A drop-in of a higher directory replaces those of the same name; an empty file or a link to
// /dev/null masks them, and a base file likewise. Each of these files must belong to trusted users,
// because a configuration names the trust file, the lock file and directories of plugins.
#pragma once

#include "core/engine/runtime/config.hpp"

#include <gantry/result.hpp>

#include <string>
#include <vector>

namespace gantry {

// Highest precedence first.
std::vector<std::string> system_config_directories();

// Where a configuration is read from.
struct ConfigSearch {
  // the file that the program names; must exist; empty: none
  std::string file;
  // of the system, highest precedence first; not used if `file` is named
  std::vector<std::string> directories = system_config_directories();
  // The process has more privileges than its caller. `file` must then belong to trusted users, too:
  // a program may take its name from the caller.
  bool elevated = false;
};

// Returns the files of the configuration in the order of application, without masked ones.
//
// returns      unavailable if a directory of drop-ins cannot be read, or, with reason PERMISSIONS,
//              if others can change a file that is used or masks another one
Result<std::vector<std::string>> config_files(const ConfigSearch& search);

// Reads the configuration: the named file with the drop-ins in `<file>.d`, otherwise those of the
// system's directories.
//
// returns      malformed, not_found or unavailable, with the file
Result<Config> read_config(const ConfigSearch& search);

}  // namespace gantry
