// SPDX-License-Identifier: Apache-2.0
//
// Names and symbol tables of sections. The system's linker uses neither of them.
#pragma once

#include "core/formats/elf/elf_image.hpp"
#include "core/formats/elf/elf_symbols.hpp"

#include <gantry/result.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace gantry {

// Values of sh_type.
namespace section_type {
constexpr std::uint32_t program_data = 1, symbols = 2, strings = 3, relocations = 4, no_bytes = 8,
                        init_array = 14;
}  // namespace section_type

// The names of a file's sections.
class SectionNames {
 public:
  // image    must outlive the result
  // returns  malformed if the section of the names is not inside the file
  static Result<SectionNames> of(const ElfImage& image);

  // Returns the name of a section; empty if the file has no section of names.
  Result<std::string_view> name(std::size_t section);

 private:
  explicit SectionNames(const ElfImage& image) : image_(&image) {}

  const ElfImage* image_;
  std::optional<StringTable> strings_;
};

// Returns the symbols of a section of type section_type::symbols, without the null symbol.
//
// returns  malformed if the section or its string table is not inside the file
Result<std::vector<ElfSymbol>> section_symbols(const ElfImage& image, std::size_t section);

}  // namespace gantry
