// SPDX-License-Identifier: Apache-2.0
//
// Reads small text files.
#pragma once

#include "core/base/file_stamp.hpp"

#include <gantry/result.hpp>

#include <chrono>
#include <string>

namespace gantry {

// Reads a whole regular file, following links. Never blocks on a FIFO.
//
// returns  not_found    no such file
//          malformed    not a regular file (reason NOT_A_FILE), or more than `max` bytes
//                       (reason YAML_TOO_LARGE)
//          unavailable  no permission, or another system error
Result<std::string> read_text_file(const std::string& path, std::size_t max = 64 * 1024);

struct StampedText {
  std::string text;
  // before it was read
  FileStamp stamp;
  // True if a process of this user that finds the same stamp later would read the same text: the
  // file has not changed meanwhile, each later change gives it another stamp, and this user may read
  // it by its mode, without a group or a privilege that a later process may lack.
  bool is_lasting = false;
};

// The same, with the file's stamp.
//
// tick     [in]   see is_settled()
Result<StampedText> read_stamped_text(const std::string& path,
                                      std::chrono::nanoseconds tick = longest_file_tick,
                                      std::size_t max = 64 * 1024);

}  // namespace gantry
