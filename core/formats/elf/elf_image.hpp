// SPDX-License-Identifier: Apache-2.0
//
// The ELF header, program headers and section headers, and the mapping from addresses to file
// bytes.
#pragma once

#include "core/formats/elf/elf_types.hpp"

#include <gantry/result.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace gantry {

// The field that contains an address or a section number, for errors.
struct ElfField {
  // "DT_SYMTAB"
  std::string_view name;
  // file offset
  std::uint64_t at;
};

class ElfImage {
 public:
  // Reads the ELF header and both header tables. A program header table that extends beyond the
  // file is an error; for a section header table the error is reported by check_complete().
  static Result<ElfImage> parse(std::span<const std::uint8_t> bytes);

  std::span<const std::uint8_t> bytes() const { return bytes_; }
  ElfType type() const { return type_; }
  ElfMachine machine() const { return machine_; }
  const std::vector<ElfSegment>& segments() const { return segments_; }
  // Empty if the file has no section table or a truncated one.
  const std::vector<ElfSection>& sections() const { return sections_; }

  // See ElfFile.
  Status check_complete() const;
  // Returns the bytes from an address to the end of the file part of its segment; never empty. An
  // address beyond the file part is malformed.
  Result<std::span<const std::uint8_t>> bytes_to_segment_end(std::uint64_t address,
                                                             const ElfField& field) const;
  // Checks a section number found in a field; malformed if there are fewer sections.
  Result<std::size_t> section_index(std::uint64_t number, const ElfField& field) const;
  // True if the linker makes some of the bytes read-only after it has bound the file. It protects
  // whole pages, from the first one of PT_GNU_RELRO to the last one that the segment fills.
  //
  // page     [in]   bytes of a page, a power of two
  bool is_protected(std::uint64_t address, std::uint64_t size, std::uint64_t page) const;
  // Returns the file part of a segment or section; malformed if it extends beyond the file.
  Result<std::span<const std::uint8_t>> bytes_of_segment(std::size_t index) const;
  Result<std::span<const std::uint8_t>> bytes_of_section(std::size_t index) const;

  std::uint64_t offset_in_file(std::span<const std::uint8_t> view) const {
    return static_cast<std::uint64_t>(view.data() - bytes_.data());
  }

 private:
  ElfImage() = default;

  std::span<const std::uint8_t> bytes_;
  ElfType type_ = ElfType::none;
  ElfMachine machine_{};
  std::vector<ElfSegment> segments_;
  std::vector<ElfSection> sections_;
  // why the section table could not be read; sections_ is empty
  std::optional<Error> section_fault_;
};

}  // namespace gantry
