// SPDX-License-Identifier: Apache-2.0
#include "tools/conformance/process_counts.hpp"

#include <malloc.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace gantry::kit {
namespace {

std::size_t entries_of(const char* directory) {
  std::size_t count = 0;
  std::error_code failed;
  for (std::filesystem::directory_iterator at(directory, failed), end; !failed && at != end;
       at.increment(failed)) {
    ++count;
  }
  return count;
}

}  // namespace

ProcessCounts process_counts() {
  ProcessCounts counts;
  counts.threads = entries_of("/proc/self/task");
  counts.descriptors = entries_of("/proc/self/fd");
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) counts.resident_bytes = std::stoull(line.substr(6)) << 10;
  }
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    counts.environment += *entry;
    counts.environment += '\n';
  }
  const struct mallinfo2 heap = ::mallinfo2();
  counts.heap_bytes = heap.uordblks + heap.hblkhd;
  return counts;
}

}  // namespace gantry::kit
