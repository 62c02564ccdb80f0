// SPDX-License-Identifier: Apache-2.0
#include "core/base/mapping.hpp"

#include <dlfcn.h>

#include <charconv>
#include <cstdint>
#include <fstream>
#include <string_view>

namespace gantry {

namespace {

// A line of /proc/self/maps: "start-end perms offset device inode path".
struct MapsLine {
  std::uintptr_t first = 0, last = 0;
  // device and inode
  std::string_view file;

  bool contains(std::uintptr_t address) const { return address >= first && address < last; }
};

// Returns a line without addresses if the text is none.
MapsLine read_line(std::string_view line) {
  MapsLine read;
  const char* const end = line.data() + line.size();
  const auto first = std::from_chars(line.data(), end, read.first, 16);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != '-') return {};
  if (std::from_chars(first.ptr + 1, end, read.last, 16).ec != std::errc()) return {};
  std::size_t at = 0;
  for (int field = 0; field < 3 && at != std::string_view::npos; ++field)
    at = line.find(' ', at + 1);
  if (at == std::string_view::npos) return read;
  const std::size_t inode = line.find(' ', at + 1);
  read.file = line.substr(at + 1, line.find(' ', inode + 1) - at - 1);
  return read;
}

}  // namespace

MappingPair mappings_of(const void* first, const void* second) {
  const auto first_address = reinterpret_cast<std::uintptr_t>(first);
  const auto second_address = reinterpret_cast<std::uintptr_t>(second);
  MappingPair found;
  int left = 2;
  std::ifstream maps("/proc/self/maps");
  for (std::string text; left != 0 && std::getline(maps, text);) {
    const MapsLine line = read_line(text);
    if (line.contains(first_address)) {
      found.first = line.file;
      --left;
    }
    if (line.contains(second_address)) {
      found.second = line.file;
      --left;
    }
  }
  return found;
}

link_map* link_map_of(void* handle) {
  link_map* map = nullptr;
  return dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 ? map : nullptr;
}

MappingPair mappings_of_library(void* handle, const MappedFile& file) {
  const link_map* const map = link_map_of(handle);
  return mappings_of(map != nullptr ? map->l_ld : nullptr, file.bytes().data());
}

}  // namespace gantry
