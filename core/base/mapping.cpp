// SPDX-License-Identifier: Apache-2.0
#include "core/base/mapping.hpp"

#include <dlfcn.h>

#include <charconv>
#include <cstdint>
#include <fstream>

namespace gantry {

std::string mapping_of(const void* address) {
  const auto wanted = reinterpret_cast<std::uintptr_t>(address);
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    // start-end perms offset device inode path
    const char* end = line.data() + line.size();
    std::uintptr_t first = 0, last = 0;
    const auto read = std::from_chars(line.data(), end, first, 16);
    if (read.ec != std::errc() || read.ptr == end || *read.ptr != '-') continue;
    if (std::from_chars(read.ptr + 1, end, last, 16).ec != std::errc()) continue;
    if (wanted < first || wanted >= last) continue;
    std::size_t at = 0;
    for (int field = 0; field < 3 && at != std::string::npos; ++field) at = line.find(' ', at + 1);
    if (at == std::string::npos) return "";
    const std::size_t inode = line.find(' ', at + 1);
    return line.substr(at + 1, line.find(' ', inode + 1) - at - 1);
  }
  return "";
}

link_map* link_map_of(void* handle) {
  link_map* map = nullptr;
  return dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 ? map : nullptr;
}

std::string mapping_of_library(void* handle) {
  const link_map* const map = link_map_of(handle);
  return map != nullptr ? mapping_of(map->l_ld) : "";
}

}  // namespace gantry
