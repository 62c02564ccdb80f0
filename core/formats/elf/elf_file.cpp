// SPDX-License-Identifier: Apache-2.0
#include "core/formats/elf/elf_file.hpp"

#include "core/base/text.hpp"
#include "core/formats/elf/elf_sections.hpp"
#include "core/formats/elf/elf_symbols.hpp"

#include <gantry/byte_count.hpp>

#include <algorithm>
#include <numeric>

namespace gantry {
namespace {

constexpr std::uint16_t first_reserved_section = 0xff00;

// Offsets of fields in the ELF header and in a symbol.
constexpr std::uint64_t program_header_count_at = 0x38;
constexpr std::uint64_t symbol_section_at = 6, symbol_value_at = 8;

}  // namespace

Result<ElfFile> ElfFile::parse(std::span<const std::uint8_t> bytes) {
  GANTRY_TRY(ElfImage image, ElfImage::parse(bytes));
  ElfFile file(std::move(image));
  const auto read = [&]() -> Status {
    GANTRY_CHECK(file.read_segments());
    if (file.type() == ElfType::relocatable) return file.read_object_symbols();
    return file.read_dynamic();
  };
  if (Status done = read(); !done.ok()) {
    // A truncated file causes many different errors; report the truncation instead.
    GANTRY_CHECK(file.check_complete());
    return std::move(done).error();
  }
  file.index_symbols();
  return file;
}

Result<ElfFile> ElfFile::parse(std::shared_ptr<const MappedFile> mapped) {
  GANTRY_TRY(ElfFile file, parse(mapped->bytes()));
  file.file_ = std::move(mapped);
  return file;
}

Status ElfFile::read_segments() {
  // Segments of hostile files may overlap. The limit keeps the time linear in the file size.
  std::uint64_t note_bytes_left = bytes().size();
  for (std::size_t i = 0; i < image_.segments().size(); ++i) {
    const ElfSegment& segment = image_.segments()[i];
    switch (segment.type) {
      case segment_type::interpreter: {
        GANTRY_TRY(const auto bytes, image_.bytes_of_segment(i));
        const std::string_view text = as_text(bytes);
        interpreter_ = text.substr(0, text.find('\0'));
        break;
      }
      case segment_type::note: {
        GANTRY_TRY(const auto bytes, image_.bytes_of_segment(i));
        if (bytes.size() > note_bytes_left) break;
        note_bytes_left -= bytes.size();
        append_notes(bytes, notes_);
        break;
      }
      case segment_type::tls:
        tls_size_ = segment.memory_size;
        break;
      case segment_type::gnu_stack:
        flags_.stack_header = true;
        flags_.executable_stack = segment.is_executable();
        break;
      case segment_type::gnu_relro:
        flags_.relro = true;
        break;
      default:
        break;
    }
  }
  return {};
}

Status ElfFile::read_dynamic() {
  const auto& segments = image_.segments();
  const auto found = std::find_if(segments.begin(), segments.end(), [](const ElfSegment& segment) {
    return segment.type == segment_type::dynamic;
  });
  if (found == segments.end()) {
    if (type() == ElfType::shared) {
      return malformed(program_header_count_at, "shared object has no dynamic segment among its ",
                       segments.size(), " program headers");
    }
    // a statically linked program
    return {};
  }
  GANTRY_TRY(const auto segment,
             image_.bytes_of_segment(static_cast<std::size_t>(found - segments.begin())));
  GANTRY_TRY(dynamic_, DynamicSegment::parse(segment, image_.offset_in_file(segment)));

  const std::uint64_t flags = dynamic_.value(dynamic_tag::flags);
  const std::uint64_t flags_1 = dynamic_.value(dynamic_tag::flags_1);
  flags_.pie = (flags_1 & 0x08000000) != 0;
  flags_.bind_now = dynamic_.find(dynamic_tag::bind_now) || (flags & 8) != 0 || (flags_1 & 1) != 0;
  flags_.text_relocations = dynamic_.text_relocations();
  flags_.static_tls = (flags & 16) != 0;

  GANTRY_TRY(const auto names, string_table(image_, dynamic_));
  StringTable strings(names, names.empty() ? 0 : image_.offset_in_file(names));
  needed_.reserve(dynamic_.needed().size());
  for (const DynamicValue& entry : dynamic_.needed()) {
    GANTRY_TRY(const auto name, strings.name(entry.value, "needed library"));
    needed_.push_back(name);
  }
  if (const DynamicValue* const entry = dynamic_.find(dynamic_tag::soname)) {
    GANTRY_TRY(soname_, strings.name(entry->value, "soname"));
  }
  if (const DynamicValue* const entry = dynamic_.find(dynamic_tag::rpath)) {
    GANTRY_TRY(rpath_, strings.name(entry->value, "rpath"));
  }
  if (const DynamicValue* const entry = dynamic_.find(dynamic_tag::runpath)) {
    GANTRY_TRY(runpath_, strings.name(entry->value, "runpath"));
  }

  if (const DynamicValue* const entry = dynamic_.find(dynamic_tag::symbols)) {
    GANTRY_TRY(const auto table, symbol_table(image_, dynamic_, *entry));
    GANTRY_TRY(symbols_, read_symbols(table, image_.offset_in_file(table), strings));
  }
  if (const DynamicValue* const entry = dynamic_.find(dynamic_tag::version_needs)) {
    GANTRY_TRY(const auto table, bytes_behind(image_, *entry, "DT_VERNEED"));
    const std::uint64_t count = dynamic_.value(dynamic_tag::version_need_count);
    GANTRY_TRY(version_needs_,
               read_version_needs(table, image_.offset_in_file(table), count, strings));
  }
  return {};
}

Status ElfFile::read_object_symbols() {
  const auto& sections = image_.sections();
  for (std::size_t i = 0; i < sections.size(); ++i) {
    if (sections[i].type != section_type::symbols) continue;
    GANTRY_TRY(symbols_, section_symbols(image_, i));
    return {};
  }
  // no symbol table: the file is stripped, or its section headers are truncated
  return check_complete();
}

void ElfFile::index_symbols() {
  by_name_.resize(symbols_.size());
  std::iota(by_name_.begin(), by_name_.end(), 0u);
  std::sort(by_name_.begin(), by_name_.end(), [this](std::uint32_t a, std::uint32_t b) {
    const int order = symbols_[a].name.compare(symbols_[b].name);
    if (order != 0) return order < 0;
    if (symbols_[a].defined() != symbols_[b].defined()) return symbols_[a].defined();
    return a < b;
  });
}

const ElfSymbol* ElfFile::find(std::string_view name) const {
  const auto at = std::lower_bound(by_name_.begin(), by_name_.end(), name,
                                   [this](std::uint32_t index, std::string_view sought) {
                                     return symbols_[index].name < sought;
                                   });
  if (at == by_name_.end() || symbols_[*at].name != name) return nullptr;
  return &symbols_[*at];
}

Result<std::span<const std::uint8_t>> ElfFile::bytes_from(const ElfSymbol& symbol) const {
  if (!symbol.defined()) {
    return not_found("symbol ", symbol.name, " is not defined in this file");
  }
  if (type() != ElfType::relocatable) {
    const std::string field = concat("value of symbol ", symbol.name);
    return image_.bytes_to_segment_end(symbol.value, {field, symbol.at + symbol_value_at});
  }
  if (symbol.section >= first_reserved_section) {
    return not_found("symbol ", symbol.name, " is in no section of this file");
  }
  const std::string field = concat("section of symbol ", symbol.name);
  GANTRY_TRY(const std::size_t index,
             image_.section_index(symbol.section, {field, symbol.at + symbol_section_at}));
  GANTRY_TRY(const auto section, image_.bytes_of_section(index));
  if (symbol.value > section.size()) {
    return malformed(symbol.at + symbol_value_at, "symbol ", symbol.name, " is at offset ",
                     symbol.value, ", section has ", ByteCount(section.size()));
  }
  return section.subspan(symbol.value);
}

Result<std::span<const std::uint8_t>> ElfFile::bytes_of(const ElfSymbol& symbol) const {
  GANTRY_TRY(const auto room, bytes_from(symbol));
  if (symbol.size > room.size()) {
    return malformed(image_.offset_in_file(room), "symbol ", symbol.name, " has ",
                     ByteCount(symbol.size), ", room for ", ByteCount(room.size()));
  }
  return room.first(symbol.size);
}

std::string no_library_text(std::string_view name, const ElfFile& elf) {
  const std::string kind = elf.is_program() ? "a program"
                           : elf.type() == ElfType::relocatable
                               ? "an object file"
                               : concat("ELF type ", static_cast<int>(elf.type()));
  return concat(name, " is ", kind, ", expected a shared library");
}

}  // namespace gantry
