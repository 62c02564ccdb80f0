// SPDX-License-Identifier: Apache-2.0
#include "core/writing/container_section.hpp"

#include "core/formats/elf/elf_sections.hpp"

#include <elf.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>
#include <vector>

namespace gantry {
namespace {

// Of sections that are not loaded; larger than what linkers write.
constexpr std::uint64_t tail_alignment = 16;

bool is_loaded(const ElfSection& section) { return (section.flags & SHF_ALLOC) != 0; }

std::uint64_t file_bytes(const ElfSection& section) {
  return section.type == section_type::no_bytes ? 0 : section.size;
}

// True if the range is inside another one. Sections may extend beyond the file, so that a sum could
// wrap.
bool is_inside(std::uint64_t offset, std::uint64_t size, std::uint64_t begin, std::uint64_t end) {
  return offset >= begin && offset <= end && size <= end - offset;
}

template <class Record>
Record record_at(const ElfImage& image, std::uint64_t at) {
  Record record;
  std::memcpy(&record, image.bytes().data() + at, sizeof record);
  return record;
}

// Returns the number of the section of names; 0 if there is none.
std::size_t names_section(const ElfImage& image) {
  const std::size_t section = record_at<Elf64_Ehdr>(image, 0).e_shstrndx;
  return section == SHN_XINDEX ? image.sections().front().link : section;
}

}  // namespace

Status ContainerSection::check_count() const {
  constexpr std::size_t max_sections = SHN_LORESERVE - 1;
  const std::size_t count = image_->sections().size();
  if (!is_new_ || count < max_sections) return {};
  return unsupported("library has ", count,
                     " sections, a container can be appended to one with up to ", max_sections - 1);
}

Result<ContainerSection> ContainerSection::behind_loaded(const ElfImage& image) {
  GANTRY_TRY([[maybe_unused]] const SectionNames names, SectionNames::of(image));
  ContainerSection added(image);
  for (std::size_t i = 0; i < image.sections().size(); ++i) {
    if (i == 0 || is_loaded(image.sections()[i])) added.index_ = i + 1;
  }
  return added;
}

Result<ContainerSection> ContainerSection::added_to(const ElfImage& image) {
  GANTRY_TRY(ContainerSection added, behind_loaded(image));
  GANTRY_CHECK(added.check_count());
  return added;
}

Result<std::optional<ContainerSection>> ContainerSection::in_place_of(const ElfImage& image,
                                                                      const ElfSegment& old) {
  GANTRY_TRY(ContainerSection found, behind_loaded(image));
  const auto none = std::optional<ContainerSection>();
  const std::uint64_t file_end = image.bytes().size();
  if (!is_inside(old.offset, old.file_size, 0, file_end)) return none;
  const std::uint64_t end = old.offset + old.file_size;
  // Files without sections and those whose headers precede the container have nothing behind it.
  std::uint64_t headers_at = file_end;
  const auto& sections = image.sections();
  if (!sections.empty()) {
    const std::uint64_t headers_end = sections.back().at + sizeof(Elf64_Shdr);
    if (headers_end == file_end && sections.front().at >= end) {
      headers_at = sections.front().at;
    } else if (headers_end > old.offset) {
      return none;
    }
  }
  found.tail_begin_ = found.tail_end_ = headers_at;
  for (std::size_t i = 0; i < sections.size(); ++i) {
    const ElfSection& section = sections[i];
    const std::uint64_t size = file_bytes(section);
    // llvm-strip moves empty sections to the end, even those that are loaded.
    if (size == 0 || is_inside(section.offset, size, 0, old.offset)) continue;
    if (found.is_new_ && is_loaded(section) && section.offset == old.offset &&
        size == old.file_size) {
      found.index_ = i;
      found.is_new_ = false;
    } else if (!is_loaded(section) && is_inside(section.offset, size, end, headers_at)) {
      found.tail_begin_ = std::min(found.tail_begin_, section.offset);
    } else {
      return none;
    }
  }
  const bool has_tail = headers_at != file_end;
  if (has_tail ? found.is_new_ : end != file_end) return none;
  GANTRY_CHECK(found.check_count());
  return std::optional(found);
}

std::uint16_t ContainerSection::renumbered(std::uint16_t section) const {
  const bool moves = is_new_ && section >= index_ && section < image_->sections().size();
  return moves ? static_cast<std::uint16_t>(section + 1) : section;
}

std::optional<std::uint16_t> ContainerSection::number() const {
  if (image_->sections().empty()) return std::nullopt;
  return static_cast<std::uint16_t>(index_);
}

ContainerSection::Tail ContainerSection::tail(const PatchedFile& library,
                                              const ContainerSegment& segment,
                                              std::uint64_t page) const {
  Tail tail{Pieces(segment.offset + segment.size), {}};
  if (image_->sections().empty()) return tail;
  Pieces& out = tail.bytes;
  out.write_zeros((tail_begin_ - out.offset()) % tail_alignment);
  const std::uint64_t shift = out.offset() - tail_begin_;
  library.append_range(tail_begin_, tail_end_, out);

  std::vector<Elf64_Shdr> headers;
  for (const ElfSection& section : image_->sections()) {
    headers.push_back(record_at<Elf64_Shdr>(*image_, section.at));
    Elf64_Shdr& header = headers.back();
    if (tail_begin_ != tail_end_ && header.sh_offset >= tail_begin_) header.sh_offset += shift;
    const auto renumber = [&](std::uint32_t& number) {
      if (number < image_->sections().size()) {
        number = renumbered(static_cast<std::uint16_t>(number));
      }
    };
    renumber(header.sh_link);
    const bool refers_to_a_section = (header.sh_flags & SHF_INFO_LINK) != 0 ||
                                     header.sh_type == SHT_RELA || header.sh_type == SHT_REL;
    if (refers_to_a_section) renumber(header.sh_info);
  }
  const std::size_t names = names_section(*image_);
  if (is_new_) {
    Elf64_Shdr added{};
    added.sh_type = SHT_PROGBITS;
    added.sh_flags = SHF_ALLOC;
    added.sh_addralign = page;
    Elf64_Shdr& old_names = headers[names];
    // Names that are loaded stay where they are: the container's section has the empty one.
    if (old_names.sh_type == SHT_STRTAB && (old_names.sh_flags & SHF_ALLOC) == 0 &&
        old_names.sh_size < std::numeric_limits<std::uint32_t>::max()) {
      added.sh_name = static_cast<std::uint32_t>(old_names.sh_size);
      const std::uint64_t at = old_names.sh_offset;
      old_names.sh_offset = out.offset();
      library.append_range(at, at + old_names.sh_size, out);
      out.write_bytes(container_section_name);
      out.write_zeros(1);
      old_names.sh_size = out.offset() - old_names.sh_offset;
    }
    headers.insert(headers.begin() + static_cast<std::ptrdiff_t>(index_), added);
  }
  Elf64_Shdr& header = headers[index_];
  header.sh_addr = segment.address;
  header.sh_offset = segment.offset;
  header.sh_size = segment.size;

  out.write_zeros((0 - out.offset()) % alignof(Elf64_Shdr));
  tail.header = {{offsetof(Elf64_Ehdr, e_shoff), bytes_of_record(out.offset())},
                 {offsetof(Elf64_Ehdr, e_shnum),
                  bytes_of_record(static_cast<std::uint16_t>(headers.size())) +
                      bytes_of_record(renumbered(static_cast<std::uint16_t>(names)))}};
  out.Write(headers.data(), headers.size() * sizeof(Elf64_Shdr));
  return tail;
}

}  // namespace gantry
