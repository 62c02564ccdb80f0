// SPDX-License-Identifier: Apache-2.0
//
// How much memory this process has.
#pragma once

#include <cstdint>

namespace gantry::cli {

// Bytes; 0 where the system does not tell.
struct ProcessMemory {
  // pages in memory
  std::uint64_t resident = 0;
  // of them, pages of files: shared with the page cache
  std::uint64_t resident_file = 0;
  std::uint64_t resident_anonymous = 0;
  // of resident
  std::uint64_t peak = 0;
};

// source   proc(5), /proc/self/status
ProcessMemory process_memory();

}  // namespace gantry::cli
