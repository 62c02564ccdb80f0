// SPDX-License-Identifier: Apache-2.0
#include "core/writing/patched_file.hpp"

#include <algorithm>
#include <utility>

namespace gantry {

PatchedFile::PatchedFile(std::shared_ptr<const MappedFile> file, std::vector<Patch> patches)
    : file_(std::move(file)), patches_(std::move(patches)) {
  std::ranges::sort(patches_, {}, &Patch::at);
}

void PatchedFile::append_range(std::uint64_t begin, std::uint64_t end, Pieces& pieces) const {
  const auto copy_to = [&](std::uint64_t to) {
    if (to > begin) pieces.append(FileRange{file_, begin, to - begin});
  };
  for (auto patch = std::ranges::lower_bound(patches_, begin, {}, &Patch::at);
       patch != patches_.end() && patch->at < end; ++patch) {
    copy_to(patch->at);
    pieces.write_bytes(patch->bytes);
    begin = patch->end();
  }
  copy_to(end);
}

}  // namespace gantry
