// SPDX-License-Identifier: Apache-2.0
//
// The frame of an ELF file: header, program headers, section headers, addresses to file bytes.
#pragma once

#include "core/elf/elf_types.hpp"

#include <gantry/result.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace gantry {

// What led to an address or a section, for refusals.
struct ElfField {
  // "DT_SYMTAB"
  std::string_view name;
  // in the file
  std::uint64_t at;
};

class ElfImage {
 public:
  // Reads the ELF header and both tables; a section table that leaves the file is remembered and
  // told by check_complete(), a program header table that does is refused.
  static Result<ElfImage> parse(std::span<const std::uint8_t> bytes);

  std::span<const std::uint8_t> bytes() const { return bytes_; }
  ElfType type() const { return type_; }
  ElfMachine machine() const { return machine_; }
  const std::vector<ElfSegment>& segments() const { return segments_; }
  // Empty for a file without sections or with a table that is cut.
  const std::vector<ElfSection>& sections() const { return sections_; }

  // See ElfFile.
  Status check_complete() const;
  // From an address to the end of the file part of its segment; never empty. Memory beyond the file
  // part is not file: malformed.
  Result<std::span<const std::uint8_t>> bytes_to_segment_end(std::uint64_t address,
                                                             const ElfField& field) const;
  // The section that a field names by number; malformed where there are fewer.
  Result<std::size_t> section_index(std::uint64_t number, const ElfField& field) const;
  // The file part of a segment or section, which must lie in the file.
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
  // why sections_ is empty although the header names some
  std::optional<Error> section_fault_;
};

}  // namespace gantry
