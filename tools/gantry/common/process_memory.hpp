// SPDX-License-Identifier: Apache-2.0
//
// The memory use of this process.
#pragma once

#include "core/base/json_writer.hpp"

#include <cstdint>
#include <string_view>

namespace gantry::cli {

// In bytes; 0 if the system does not report a value.
struct ProcessMemory {
  // all resident pages
  std::uint64_t resident = 0;
  // resident pages of files, shared with the page cache
  std::uint64_t resident_file = 0;
  std::uint64_t resident_anonymous = 0;
  // largest value of `resident` so far
  std::uint64_t peak = 0;
};

// source   proc(5), /proc/self/status
ProcessMemory process_memory();

// Writes an object under `key`.
void write_memory(std::string_view key, const ProcessMemory& memory, JsonWriter& json);

}  // namespace gantry::cli
