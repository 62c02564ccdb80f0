// SPDX-License-Identifier: Apache-2.0
//
// What a process holds: threads, descriptors, signal handlers, environment, memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace gantry::kit {

struct ProcessCounts {
  std::size_t threads = 0;
  std::size_t descriptors = 0;
  std::string environment;
  // allocated with malloc(); 0 under a sanitizer
  std::uint64_t heap_bytes = 0;
  std::uint64_t resident_bytes = 0;
};

ProcessCounts process_counts();

}  // namespace gantry::kit
