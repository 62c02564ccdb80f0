// SPDX-License-Identifier: Apache-2.0
//
// The memory that the segments of a shared library occupy after the system's linker has mapped
// them; addresses are relative to the library.
#pragma once

#include "core/formats/elf/elf_image.hpp"

#include <gantry/result.hpp>

#include <cstdint>

namespace gantry {

class ElfMemory {
 public:
  // The linker of glibc copies the program headers to the stack.
  static constexpr std::size_t max_segments = 128;

  // Checks what the linker relies on when it maps the segments:
  // - at most max_segments; the loaded ones ascend in memory and in the file and share no page
  // - loaded segments are readable or executable; code is completely in the file
  // - no segment that is filled with zeros begins in a page beyond the file
  // - one PT_DYNAMIC, whose address leads to its bytes; writable only in a writable segment
  // - PT_TLS, PT_GNU_RELRO, PT_PHDR, PT_NOTE and PT_GNU_PROPERTY are inside loaded segments
  //
  // image    complete and a shared library; must outlive the result
  // returns  malformed, at the field of the program header
  static Result<ElfMemory> of(const ElfImage& image);

  // Returns the loaded segment that contains the whole range, or NULL.
  //
  // costs    O(1) if it is the segment of the last call, else O(segments)
  const ElfSegment* segment_of(std::uint64_t address, std::uint64_t size);
  // True if the address is inside the file part of an executable segment.
  bool is_code(std::uint64_t address);

 private:
  explicit ElfMemory(const ElfImage& image) : image_(&image) {}
  Status check_order() const;
  Status check_contained(const ElfSegment& segment, std::string_view name, std::uint64_t size);
  Status check_dynamic(const ElfSegment& segment);
  Status check_tls(const ElfSegment& segment);
  Status check_relro(const ElfSegment& segment);
  Status check_program_headers(const ElfSegment& segment);

  const ElfImage* image_;
  const ElfSegment* last_ = nullptr;
};

}  // namespace gantry
