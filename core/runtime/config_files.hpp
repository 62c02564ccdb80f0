// SPDX-License-Identifier: Apache-2.0
//
// The files that make up a configuration, in the manner of systemd:
//
//     /etc/gantry/runtime.yaml, else /run/..., else /usr/share/...        one base file
//     */gantry/runtime.yaml.d/*.yaml of the same three directories        drop-ins, bytewise by name
//
// A drop-in of a higher directory replaces those of the same name; an empty file or a link to
// /dev/null masks them, and a base file likewise.
#pragma once

#include "core/runtime/config.hpp"

#include <string>
#include <vector>

namespace gantry {

// Highest precedence first.
std::vector<std::string> system_config_directories();

// Returns the files of the configuration in the order of application, without masked ones.
//
// returns      unavailable if a directory of drop-ins cannot be read
Result<std::vector<std::string>> config_files(
    const std::string& named,
    const std::vector<std::string>& directories = system_config_directories());

// Reads the configuration: the file `named` with the drop-ins in `<named>.d`, otherwise those of
// the system's directories.
//
// named        [in]   must exist; empty: none
// directories  [in]   of the system, highest precedence first
// returns      malformed, not_found or unavailable, with the file
Result<Config> read_config(const std::string& named, const std::vector<std::string>& directories =
                                                         system_config_directories());

}  // namespace gantry
