// SPDX-License-Identifier: Apache-2.0
//
// Bounds the memory of a large file that is read once, in order, through its mapping.
#pragma once

#include "core/base/mapped_file.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace gantry {

// Removes a part of a file from the resident memory of this process; its pages are read from the
// file again when they are next used. No effect on what MappedFile::joined() has created.
//
// part     [in]   of file.bytes()
// thread   any
void release_pages(const MappedFile& file, std::span<const std::uint8_t> part);

// Releases the pages of a file behind its reader, 1 MiB at once.
class PassedPages {
 public:
  // file     [in]   NULL: the bytes are in memory, nothing is released
  // lifetime `file` must outlive this object
  explicit PassedPages(const MappedFile* file) : file_(file) {}

  // part     [in]   that has been read, of the file's bytes; begins where the last one ends
  void pass(std::span<const std::uint8_t> part) {
    if (file_ == nullptr || part.empty()) return;
    if (first_ == nullptr) first_ = part.data();
    const std::uint8_t* const end = part.data() + part.size();
    if (static_cast<std::size_t>(end - first_) < step) return;
    release_pages(*file_, {first_, end});
    first_ = end;
  }

 private:
  static constexpr std::size_t step = std::size_t{1} << 20;

  const MappedFile* file_;
  // of the bytes that are read and not released; NULL: none has been read
  const std::uint8_t* first_ = nullptr;
};

}  // namespace gantry
