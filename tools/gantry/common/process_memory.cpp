// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/common/process_memory.hpp"

#include <cinttypes>
#include <cstdio>
#include <cstring>

namespace gantry::cli {

ProcessMemory process_memory() {
  ProcessMemory memory;
  std::FILE* file = std::fopen("/proc/self/status", "re");
  if (file == nullptr) return memory;
  char line[256];
  while (std::fgets(line, sizeof line, file) != nullptr) {
    std::uint64_t kib = 0;
    if (std::sscanf(line, "%*[^:]: %" SCNu64 " kB", &kib) != 1) continue;
    const auto is = [&](const char* name) {
      return std::strncmp(line, name, std::strlen(name)) == 0;
    };
    if (is("VmRSS:")) memory.resident = kib * 1024;
    if (is("RssFile:")) memory.resident_file = kib * 1024;
    if (is("RssAnon:")) memory.resident_anonymous = kib * 1024;
    if (is("VmHWM:")) memory.peak = kib * 1024;
  }
  std::fclose(file);
  return memory;
}

void write_memory(std::string_view key, const ProcessMemory& memory, JsonWriter& json) {
  json.begin_object(key);
  json.field("resident", memory.resident);
  json.field("resident_file", memory.resident_file);
  json.field("resident_anonymous", memory.resident_anonymous);
  json.field("peak", memory.peak);
  json.end();
}

}  // namespace gantry::cli
