// SPDX-License-Identifier: Apache-2.0
#include "core/base/mapping.hpp"

#include <gantry/concat.hpp>

#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <span>
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

bool has_proc() { return ::access("/proc/self/maps", R_OK) == 0; }

namespace {

// The program headers of a library in memory.
struct LoadedHeaders {
  const link_map* map;
  std::span<const ElfW(Phdr)> headers = {};
};

LoadedHeaders headers_of(const link_map* map) {
  LoadedHeaders found{map};
  if (map == nullptr) return found;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* given) {
        auto& wanted = *static_cast<LoadedHeaders*>(given);
        if (info->dlpi_addr != wanted.map->l_addr || info->dlpi_name != wanted.map->l_name)
          return 0;
        wanted.headers = {info->dlpi_phdr, info->dlpi_phnum};
        return 1;
      },
      &found);
  return found;
}

// Not with memcmp(): a library that is built with AddressSanitizer has poisoned bytes between its
// constants.
[[gnu::no_sanitize_address]] bool is_equal(const std::uint8_t* memory, const std::uint8_t* file,
                                           std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) {
    if (memory[i] != file[i]) return false;
  }
  return true;
}

// The headers are equal, so that each segment of the file is in memory.
bool has_bytes_of(const LoadedHeaders& loaded, std::span<const std::uint8_t> file) {
  ElfW(Ehdr) header;
  if (file.size() < sizeof header) return false;
  std::memcpy(&header, file.data(), sizeof header);
  const std::size_t size = loaded.headers.size_bytes();
  const bool is_same_table =
      header.e_phentsize == sizeof(ElfW(Phdr)) && header.e_phnum == loaded.headers.size() &&
      header.e_phoff <= file.size() && size <= file.size() - header.e_phoff &&
      std::memcmp(file.data() + header.e_phoff, loaded.headers.data(), size) == 0;
  if (loaded.headers.empty() || !is_same_table) return false;
  return std::ranges::all_of(loaded.headers, [&](const ElfW(Phdr) & segment) {
    if (segment.p_type != PT_LOAD || (segment.p_flags & (PF_R | PF_W)) != PF_R) return true;
    if (segment.p_offset > file.size() || segment.p_filesz > file.size() - segment.p_offset)
      return false;
    return is_equal(reinterpret_cast<const std::uint8_t*>(loaded.map->l_addr + segment.p_vaddr),
                    file.data() + segment.p_offset, segment.p_filesz);
  });
}

}  // namespace

std::string difference_of(void* handle, const MappedFile& file) {
  const link_map* const map = link_map_of(handle);
  if (has_proc()) {
    const MappingPair mappings =
        mappings_of(map != nullptr ? map->l_ld : nullptr, file.bytes().data());
    if (mappings.is_one_file()) return {};
    return concat("it is ", mappings.first, ", not ", mappings.second);
  }
  struct stat about {};
  if (::stat(file.path().c_str(), &about) != 0 || identity_of(about) != file.identity())
    return "another file is at its path";
  return has_bytes_of(headers_of(map), file.bytes()) ? "" : "its bytes differ";
}

}  // namespace gantry
