// SPDX-License-Identifier: Apache-2.0
//
// The section header of an appended container's segment, and what follows the container in the file:
//
//     container        a segment and a section of the same range
//     other sections   only if the container replaces another one: what a linker, strip or objcopy
//                      had written behind that
//     section names    with that of the container's section; behind the table's old names, a copy
//     section headers  the last bytes of the file
//
// strip and objcopy lay a file out again and keep of a segment what its sections contain. The
// container's section follows those that are loaded, so that its number, which is in .dynsym,
// remains right when they remove the others.
#pragma once

#include "core/formats/elf/elf_image.hpp"
#include "core/writing/patched_file.hpp"
#include "core/writing/pieces.hpp"

#include <gantry/result.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace gantry {

constexpr std::string_view container_section_name = ".gantry.container";

// A segment that contains a container.
struct ContainerSegment {
  std::uint64_t offset = 0, address = 0, size = 0;
};

class ContainerSection {
 public:
  // For a container that is appended to a library.
  //
  // image    must outlive the result
  // returns  unsupported  the table has no number left for another section
  static Result<ContainerSection> added_to(const ElfImage& image);
  // For a container in place of the one in segment `old`, which has been appended before.
  //
  // image    must outlive the result
  // returns  nullopt if `old` is not the last part of the file that is loaded, if a section has a
  //          part of it, or if sections and their headers are not what is behind it
  //          unsupported  as above
  static Result<std::optional<ContainerSection>> in_place_of(const ElfImage& image,
                                                             const ElfSegment& old);

  // Returns the number in the result of a section of the library.
  std::uint16_t renumbered(std::uint16_t section) const;
  // The number of the container's section; nullopt if the library has no sections.
  std::optional<std::uint16_t> number() const;
  // The range of the library that is copied behind the container; can be empty.
  std::uint64_t tail_begin() const { return tail_begin_; }
  std::uint64_t tail_end() const { return tail_end_; }

  // What is behind the container, and the fields of the ELF header that refer to it.
  struct Tail {
    Pieces bytes;
    std::vector<Patch> header;
  };
  // library  the image's file
  // page     alignment of the section
  Tail tail(const PatchedFile& library, const ContainerSegment& segment, std::uint64_t page) const;

 private:
  explicit ContainerSection(const ElfImage& image) : image_(&image) {}
  static Result<ContainerSection> behind_loaded(const ElfImage& image);
  Status check_count() const;

  const ElfImage* image_;
  std::size_t index_ = 0;
  // The library has no section for the container: those from index_ on move by one.
  bool is_new_ = true;
  std::uint64_t tail_begin_ = 0, tail_end_ = 0;
};

}  // namespace gantry
