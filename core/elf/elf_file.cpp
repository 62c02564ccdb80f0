// SPDX-License-Identifier: Apache-2.0
#include "core/elf/elf_file.hpp"

#include "core/elf/elf_symbols.hpp"

#include <gantry/byte_reader.hpp>

#include <algorithm>
#include <numeric>

namespace gantry {
namespace {

namespace segment_type {
constexpr std::uint32_t dynamic = 2, interpreter = 3, note = 4, tls = 7;
constexpr std::uint32_t gnu_stack = 0x6474e551, gnu_relro = 0x6474e552;
}  // namespace segment_type

namespace tag {
constexpr std::uint64_t end = 0, needed = 1, hash = 4, strings = 5, symbols = 6, string_bytes = 10,
                        symbol_entry_bytes = 11, soname = 14, rpath = 15, text_relocations = 22,
                        bind_now = 24, runpath = 29, flags = 30, gnu_hash = 0x6ffffef5,
                        flags_1 = 0x6ffffffb, version_needs = 0x6ffffffe,
                        version_need_count = 0x6fffffff;
}  // namespace tag

constexpr std::uint32_t section_symbols = 2;  // SHT_SYMTAB
constexpr std::uint16_t first_reserved_section = 0xff00;

// The entries that matter, as they stand in the dynamic segment.
struct Dynamic {
  std::vector<std::uint64_t> needed;
  std::optional<std::uint64_t> hash, gnu_hash, strings, string_bytes, symbols, symbol_entry_bytes;
  std::optional<std::uint64_t> soname, rpath, runpath, version_needs, version_need_count;
  std::uint64_t flags = 0, flags_1 = 0;
  bool text_relocations = false, bind_now = false;
};

Result<Dynamic> read_dynamic_entries(std::span<const std::uint8_t> segment, std::uint64_t at) {
  Dynamic dynamic;
  ByteReader in(segment, at);
  while (!in.at_end()) {
    GANTRY_TRY(const std::uint64_t key, in.read_u64("dynamic tag"));
    GANTRY_TRY(const std::uint64_t value, in.read_u64("dynamic value"));
    switch (key) {
      case tag::end:
        return dynamic;
      case tag::needed:
        dynamic.needed.push_back(value);
        break;
      case tag::hash:
        dynamic.hash = value;
        break;
      case tag::gnu_hash:
        dynamic.gnu_hash = value;
        break;
      case tag::strings:
        dynamic.strings = value;
        break;
      case tag::string_bytes:
        dynamic.string_bytes = value;
        break;
      case tag::symbols:
        dynamic.symbols = value;
        break;
      case tag::symbol_entry_bytes:
        dynamic.symbol_entry_bytes = value;
        break;
      case tag::soname:
        dynamic.soname = value;
        break;
      case tag::rpath:
        dynamic.rpath = value;
        break;
      case tag::runpath:
        dynamic.runpath = value;
        break;
      case tag::text_relocations:
        dynamic.text_relocations = true;
        break;
      case tag::bind_now:
        dynamic.bind_now = true;
        break;
      case tag::flags:
        dynamic.flags = value;
        break;
      case tag::flags_1:
        dynamic.flags_1 = value;
        break;
      case tag::version_needs:
        dynamic.version_needs = value;
        break;
      case tag::version_need_count:
        dynamic.version_need_count = value;
        break;
      default:
        break;
    }
  }
  return dynamic;
}

Result<std::uint64_t> count_symbols(const ElfImage& image, const Dynamic& dynamic) {
  if (!dynamic.hash && !dynamic.gnu_hash) {
    return malformed(no_offset,
                     "dynamic symbols cannot be counted: neither DT_HASH nor DT_GNU_HASH is there")
        .because("ELF_HASH");
  }
  std::optional<std::uint64_t> count;
  if (dynamic.hash) {
    GANTRY_TRY(const auto table, image.bytes_to_segment_end(*dynamic.hash));
    GANTRY_TRY(count, symbol_count_of_hash(table, image.offset_in_file(table)));
  }
  if (dynamic.gnu_hash) {
    GANTRY_TRY(const auto table, image.bytes_to_segment_end(*dynamic.gnu_hash));
    GANTRY_TRY(const std::uint64_t hashed,
               symbol_count_of_gnu_hash(table, image.offset_in_file(table)));
    if (count && hashed > *count) {
      return malformed(image.offset_in_file(table), "DT_GNU_HASH counts ", hashed,
                       " symbols, DT_HASH counts ", *count)
          .because("ELF_HASH");
    }
    if (!count) count = hashed;
  }
  return *count;
}

// NUL-terminated text that fills a segment.
std::string_view text_of(std::span<const std::uint8_t> bytes) {
  const std::string_view all(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return all.substr(0, all.find('\0'));
}

}  // namespace

std::string name_of(ElfMachine machine) {
  switch (machine) {
    case ElfMachine::i386:
      return "i386";
    case ElfMachine::ppc64:
      return "ppc64";
    case ElfMachine::s390:
      return "s390x";
    case ElfMachine::arm:
      return "arm";
    case ElfMachine::x86_64:
      return "x86-64";
    case ElfMachine::hexagon:
      return "hexagon";
    case ElfMachine::aarch64:
      return "aarch64";
    case ElfMachine::cuda:
      return "cuda";
    case ElfMachine::amdgpu:
      return "amdgpu";
    case ElfMachine::riscv:
      return "riscv";
    case ElfMachine::loongarch:
      return "loongarch";
  }
  return concat("machine ", static_cast<std::uint16_t>(machine));
}

ElfMachine host_machine() {
#if defined(__x86_64__)
  return ElfMachine::x86_64;
#elif defined(__aarch64__)
  return ElfMachine::aarch64;
#else
#error "name this machine in ElfMachine first"
#endif
}

Result<ElfFile> ElfFile::parse(std::span<const std::uint8_t> bytes) {
  GANTRY_TRY(ElfImage image, ElfImage::parse(bytes));
  ElfFile file(std::move(image));
  const auto read = [&]() -> Status {
    GANTRY_CHECK(file.read_segments());
    if (file.type() == ElfType::relocatable) return file.read_object_symbols();
    return file.read_dynamic();
  };
  if (Status done = read(); !done.ok()) {
    // A cut file has many symptoms; the cut is what its owner can act on.
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
  std::uint64_t note_bytes_left = bytes().size();  // hostile segments overlap; honest notes do not
  for (std::size_t i = 0; i < image_.segments().size(); ++i) {
    const ElfSegment& segment = image_.segments()[i];
    switch (segment.type) {
      case segment_type::interpreter: {
        GANTRY_TRY(const auto bytes, image_.bytes_of_segment(i));
        interpreter_ = text_of(bytes);
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
        flags_.executable_stack = (segment.flags & 1) != 0;
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
      return malformed(no_offset, "shared object has no dynamic segment");
    }
    return {};  // a static program
  }
  GANTRY_TRY(const auto segment,
             image_.bytes_of_segment(static_cast<std::size_t>(found - segments.begin())));
  GANTRY_TRY(const Dynamic dynamic, read_dynamic_entries(segment, image_.offset_in_file(segment)));

  flags_.pie = (dynamic.flags_1 & 0x08000000) != 0;
  flags_.bind_now = dynamic.bind_now || (dynamic.flags & 8) != 0 || (dynamic.flags_1 & 1) != 0;
  flags_.text_relocations = dynamic.text_relocations || (dynamic.flags & 4) != 0;
  flags_.static_tls = (dynamic.flags & 16) != 0;

  StringTable strings;
  if (dynamic.strings && dynamic.string_bytes) {
    GANTRY_TRY(const auto bytes, image_.bytes_at(*dynamic.strings, *dynamic.string_bytes));
    strings = StringTable(bytes, image_.offset_in_file(bytes));
  }
  needed_.reserve(dynamic.needed.size());
  for (const std::uint64_t at : dynamic.needed) {
    GANTRY_TRY(const auto name, strings.name(at, "needed library"));
    needed_.push_back(name);
  }
  if (dynamic.soname) {
    GANTRY_TRY(soname_, strings.name(*dynamic.soname, "soname"));
  }
  if (dynamic.rpath) {
    GANTRY_TRY(rpath_, strings.name(*dynamic.rpath, "rpath"));
  }
  if (dynamic.runpath) {
    GANTRY_TRY(runpath_, strings.name(*dynamic.runpath, "runpath"));
  }

  if (dynamic.symbols) {
    if (dynamic.symbol_entry_bytes.value_or(symbol_bytes) != symbol_bytes) {
      return malformed(no_offset, "dynamic symbols have ", *dynamic.symbol_entry_bytes,
                       " bytes each, expected ", symbol_bytes);
    }
    GANTRY_TRY(const std::uint64_t count, count_symbols(image_, dynamic));
    GANTRY_TRY(const auto room, image_.bytes_to_segment_end(*dynamic.symbols));
    const std::uint64_t at = image_.offset_in_file(room);
    if (count > room.size() / symbol_bytes) {
      return malformed(at, "dynamic symbols: count ", count, ", room for ",
                       room.size() / symbol_bytes);
    }
    GANTRY_TRY(symbols_, read_symbols(room.first(count * symbol_bytes), at, strings));
  }
  if (dynamic.version_needs) {
    GANTRY_TRY(const auto table, image_.bytes_to_segment_end(*dynamic.version_needs));
    GANTRY_TRY(version_needs_, read_version_needs(table, image_.offset_in_file(table),
                                                  dynamic.version_need_count.value_or(0), strings));
  }
  return {};
}

Status ElfFile::read_object_symbols() {
  const auto& sections = image_.sections();
  for (std::size_t i = 0; i < sections.size(); ++i) {
    if (sections[i].type != section_symbols) continue;
    GANTRY_TRY(const auto table, image_.bytes_of_section(i));
    GANTRY_TRY(const auto names, image_.bytes_of_section(sections[i].link));
    StringTable strings(names, image_.offset_in_file(names));
    GANTRY_TRY(symbols_, read_symbols(table, image_.offset_in_file(table), strings));
    return {};
  }
  return check_complete();  // no table: stripped, or the section headers are cut
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
                                   [this](std::uint32_t index, std::string_view wanted) {
                                     return symbols_[index].name < wanted;
                                   });
  if (at == by_name_.end() || symbols_[*at].name != name) return nullptr;
  return &symbols_[*at];
}

Result<std::span<const std::uint8_t>> ElfFile::bytes_from(const ElfSymbol& symbol) const {
  if (!symbol.defined()) {
    return not_found("symbol ", symbol.name, " is not defined in this file");
  }
  if (type() != ElfType::relocatable) return image_.bytes_to_segment_end(symbol.value);
  if (symbol.section >= first_reserved_section) {
    return not_found("symbol ", symbol.name, " lies in no section of this file");
  }
  GANTRY_TRY(const auto section, image_.bytes_of_section(symbol.section));
  if (symbol.value > section.size()) {
    return malformed(image_.offset_in_file(section), "symbol ", symbol.name, " lies at ",
                     symbol.value, " of a section of ", section.size(), " bytes");
  }
  return section.subspan(symbol.value);
}

Result<std::span<const std::uint8_t>> ElfFile::bytes_of(const ElfSymbol& symbol) const {
  GANTRY_TRY(const auto room, bytes_from(symbol));
  if (symbol.size > room.size()) {
    return malformed(image_.offset_in_file(room), "symbol ", symbol.name, " has ", symbol.size,
                     " bytes, room for ", room.size());
  }
  return room.first(symbol.size);
}

}  // namespace gantry
