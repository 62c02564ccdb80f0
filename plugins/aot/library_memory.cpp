// SPDX-License-Identifier: Apache-2.0
#include "library_memory.hpp"

#include <gantry/concat.hpp>

#include <link.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace gantry::aot {
namespace {

struct Search {
  std::uint64_t address;
  bool is_found = false;
  std::uint64_t base = 0;
  std::vector<MemoryRange> ranges;
};

// Returns 1 to end the iteration.
int visit(dl_phdr_info* info, std::size_t, void* self) {
  Search& search = *static_cast<Search*>(self);
  search.ranges.clear();
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_R) == 0) continue;
    const std::uint64_t begin = info->dlpi_addr + segment.p_vaddr;
    search.ranges.push_back(
        {begin, {reinterpret_cast<const std::uint8_t*>(begin), segment.p_memsz}});
    if (search.address - begin < segment.p_memsz) search.is_found = true;
  }
  search.base = info->dlpi_addr;
  return search.is_found ? 1 : 0;
}

}  // namespace

Result<MemoryImage> memory_of_library(const void* address) {
  Search search{reinterpret_cast<std::uintptr_t>(address), false, 0, {}};
  dl_iterate_phdr(&visit, &search);
  if (search.is_found) return MemoryImage(std::move(search.ranges), search.base);
  return malformed(no_offset, "metadata of the model are at ", Hex{search.address},
                   ", which is in no loaded library")
      .with_reason("AOT_METADATA");
}

}  // namespace gantry::aot
