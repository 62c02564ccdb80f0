// SPDX-License-Identifier: Apache-2.0
//
// Reads small text files.
#pragma once

#include <gantry/result.hpp>

#include <string>

namespace gantry {

// Reads a whole regular file, following links. Never blocks on a FIFO.
//
// returns  not_found    no such file
//          malformed    not a regular file (reason NOT_A_FILE), or more than `max` bytes
//                       (reason YAML_TOO_LARGE)
//          unavailable  no permission, or another system error
Result<std::string> read_text_file(const std::string& path, std::size_t max = 64 * 1024);

}  // namespace gantry
