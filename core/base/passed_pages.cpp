// SPDX-License-Identifier: Apache-2.0
#include "core/base/passed_pages.hpp"

#include <sys/mman.h>
#include <unistd.h>

namespace gantry {

void release_pages(const MappedFile& file, std::span<const std::uint8_t> part) {
  // joined() has pages that are in no file. It has no descriptor.
  if (file.descriptor() < 0 || part.empty()) return;
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  // The file's bytes begin with a page.
  const auto at = static_cast<std::size_t>(part.data() - file.bytes().data());
  const std::uint8_t* const first = file.bytes().data() + at / page * page;
  // A failure costs memory only.
  ::madvise(const_cast<std::uint8_t*>(first), at % page + part.size(), MADV_DONTNEED);
}

}  // namespace gantry
