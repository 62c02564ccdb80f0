// SPDX-License-Identifier: Apache-2.0
#include "core/pack/appended_container.hpp"

#include "core/base/near_name.hpp"
#include "core/elf/elf_address_uses.hpp"
#include "core/elf/elf_file.hpp"
#include "core/elf/elf_memory.hpp"
#include "core/elf/elf_sections.hpp"
#include "core/elf/elf_signature.hpp"
#include "core/elf/elf_symbol_uses.hpp"
#include "core/elf/elf_symbols.hpp"
#include "core/format/container_symbols.hpp"
#include "core/pack/free_program_header.hpp"

#include <gantry/byte_count.hpp>
#include <gantry/join.hpp>
#include <gantry/quoted.hpp>

#include <elf.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gantry {
namespace {

constexpr std::uint64_t section_header_bytes = 64;
// The address space of processes.
constexpr std::uint64_t max_address = std::uint64_t{1} << 47;
constexpr std::uint64_t max_alignment = std::uint64_t{1} << 30;
// SHN_ABS
constexpr std::uint16_t absolute_section = 0xfff1;

// The largest page of the machine's systems.
std::uint64_t page_bytes(ElfMachine machine) {
  return machine == ElfMachine::aarch64 ? std::uint64_t{0x10000} : std::uint64_t{0x1000};
}

Status check_kind(const ElfFile& elf) {
  if (elf.type() != ElfType::shared || elf.flags().pie) {
    return unsupported("file is a ",
                       elf.type() == ElfType::relocatable ? "relocatable object" : "program",
                       ", a container can be appended to a shared library only")
        .with_reason("FILE_KIND");
  }
  if (elf.machine() != ElfMachine::x86_64 && elf.machine() != ElfMachine::aarch64) {
    return unsupported("library is for ", name_of(elf.machine()),
                       ", a container can be appended for x86-64 and aarch64");
  }
  GANTRY_CHECK(elf.check_complete());
  GANTRY_TRY([[maybe_unused]] const ElfMemory memory, ElfMemory::of(elf.image()));
  return {};
}

Status check_unsigned(const ElfImage& image) {
  GANTRY_TRY(const auto signature, find_signature(image));
  if (!signature) return {};
  return unsupported("library is signed: ", signature->part, " at ", Hex{signature->at},
                     " is written by ", signature->writer,
                     "; another container would make the signature invalid")
      .with_reason("ELF_SIGNED");
}

Result<const ElfSymbol*> find_variable(const ElfFile& elf, std::string_view name) {
  const ElfSymbol* const found = elf.find(name);
  const bool is_variable = found != nullptr && found->defined() &&
                           found->section != absolute_section &&
                           (found->type == SymbolType::object || found->type == SymbolType::notype);
  if (is_variable) return found;
  std::vector<std::string_view> variables;
  for (const ElfSymbol& symbol : elf.symbols()) {
    if (symbol.defined() && symbol.type == SymbolType::object) variables.push_back(symbol.name);
  }
  return not_found(
      "library has no variable ", quoted(name), " in its dynamic symbol table",
      did_you_mean(name, variables), "; it has ",
      variables.empty() ? "none" : join(variables, ", ", std::identity(), max_listed_names));
}

// Checks that the old address of the symbol is stored nowhere.
Status check_address_unused(const ElfFile& elf, const ElfSymbol& symbol) {
  const AddressRange old{symbol.value, std::max<std::uint64_t>(symbol.size, 1)};
  GANTRY_TRY(const auto use, find_address_use(elf, old, symbol.name));
  if (use) {
    return unsupported("relocation at ", Hex{*use}, " stores an address inside ",
                       quoted(symbol.name), ", which would still lead to the old container")
        .with_reason("ELF_ADDRESS_USED");
  }
  for (const std::string_view function : register_functions) {
    const ElfSymbol* const imported = elf.find(function);
    if (imported == nullptr || imported->defined()) continue;
    const std::size_t index[] = {static_cast<std::size_t>(&symbol - elf.symbols().data())};
    GANTRY_TRY(const SymbolUses uses, uses_of(elf, index));
    if (uses.has_others || !uses.slots.empty()) continue;
    return unsupported("constructor of the library calls ", function, " but no relocation names ",
                       quoted(symbol.name), ": it would register the old container")
        .with_reason("ELF_ADDRESS_USED");
  }
  return {};
}

// The segment of the container.
struct Placement {
  // index of the program header that becomes this segment's
  std::size_t header = 0;
  std::uint64_t offset = 0, address = 0, alignment = 0;
  // bytes of the library that precede it
  std::uint64_t library_bytes = 0;
};

std::size_t last_loaded(const ElfImage& image) {
  const auto& segments = image.segments();
  const auto last = std::find_if(segments.rbegin(), segments.rend(), [](const ElfSegment& segment) {
    return segment.type == segment_type::load;
  });
  return static_cast<std::size_t>(segments.rend() - last) - 1;
}

// True if the last segment is a container that append_container() has written: it contains the
// symbol and nothing else, and nothing is in the file behind its first byte.
bool is_appended(const ElfImage& image, const ElfSegment& last, const ElfSymbol& symbol) {
  const std::uint64_t size = image.bytes().size();
  if (last.address != symbol.value || last.memory_size != symbol.size) return false;
  if (last.offset > size || size - last.offset != last.file_size) return false;
  if (last.file_size != symbol.size) return false;
  if (last.flags != PF_R || last.offset % page_bytes(image.machine()) != 0) return false;
  for (const ElfSection& section : image.sections()) {
    const std::uint64_t bytes = section.type == section_type::no_bytes ? 0 : section.size;
    // Sections may extend beyond the file, so that a sum could wrap.
    if (section.offset > last.offset || bytes > last.offset - section.offset) return false;
    if (section.at + section_header_bytes > last.offset) return false;
  }
  return image.segments().back().at + program_header_bytes <= last.offset;
}

Result<Placement> place(const ElfImage& image, const ElfSymbol& symbol, std::uint64_t size) {
  const std::size_t last_index = last_loaded(image);
  const ElfSegment& last = image.segments()[last_index];
  Placement placement;
  if (is_appended(image, last, symbol)) {
    placement = {last_index, last.offset, last.address, last.alignment, last.offset};
  } else {
    GANTRY_TRY(placement.header, find_free_program_header(image));
    const std::uint64_t page = page_bytes(image.machine());
    placement.alignment = page;
    std::uint64_t end = 0;
    for (std::size_t i = 0; i < image.segments().size(); ++i) {
      const ElfSegment& segment = image.segments()[i];
      if (segment.type != segment_type::load) continue;
      if (segment.alignment > max_alignment ||
          (segment.alignment != 0 && !std::has_single_bit(segment.alignment))) {
        return malformed(segment.at + offsetof(Elf64_Phdr, p_align), "segment ", i,
                         " is aligned to ", segment.alignment, ", expected a power of two up to ",
                         max_alignment);
      }
      placement.alignment = std::max(placement.alignment, segment.alignment);
      end = std::max(end, segment.address + segment.memory_size);
    }
    placement.library_bytes = image.bytes().size();
    placement.offset = align_up(placement.library_bytes, page);
    // The linker requires equal remainders of offset and address.
    placement.address = align_up(end, placement.alignment) + placement.offset % placement.alignment;
  }
  if (placement.address >= max_address || size > max_address - placement.address) {
    return unsupported("container of ", ByteCount(size), " would be at address ",
                       Hex{placement.address}, ", limit of addresses is ", Hex{max_address});
  }
  return placement;
}

// Bytes that replace those of the library.
struct Patch {
  std::uint64_t at = 0;
  std::string bytes;
};

template <class Record>
std::string bytes_of_record(const Record& record) {
  return {reinterpret_cast<const char*>(&record), sizeof record};
}

// The program header table with the container's segment after the other loaded ones.
Patch header_table(const ElfImage& image, const Placement& placement, std::uint64_t size) {
  const auto& segments = image.segments();
  Elf64_Phdr container{};
  container.p_type = PT_LOAD;
  container.p_flags = PF_R;
  container.p_offset = placement.offset;
  container.p_vaddr = container.p_paddr = placement.address;
  container.p_filesz = container.p_memsz = size;
  container.p_align = placement.alignment;
  Patch patch{segments.front().at, {}};
  const std::size_t last = last_loaded(image);
  for (std::size_t i = 0; i < segments.size(); ++i) {
    if (i != placement.header) {
      const auto bytes = image.bytes().subspan(segments[i].at, program_header_bytes);
      patch.bytes.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }
    if (i == last) patch.bytes += bytes_of_record(container);
  }
  return patch;
}

void add_symbols(std::span<const ElfSymbol> symbols, const ElfSymbol& old,
                 const Placement& placement, std::uint64_t size, std::vector<Patch>& patches) {
  const std::string value_and_size = bytes_of_record(placement.address) + bytes_of_record(size);
  for (const ElfSymbol& symbol : symbols) {
    if (symbol.name != old.name || !symbol.defined() || symbol.value != old.value) continue;
    patches.push_back({symbol.at + offsetof(Elf64_Sym, st_value), value_and_size});
  }
}

Result<std::vector<Patch>> patches_for(const ElfFile& elf, const ElfSymbol& symbol,
                                       const Placement& placement, std::uint64_t size) {
  const ElfImage& image = elf.image();
  std::vector<Patch> patches = {header_table(image, placement, size)};
  add_symbols(elf.symbols(), symbol, placement, size, patches);
  // A file has at most one such section.
  const auto table = std::ranges::find(image.sections(), section_type::symbols, &ElfSection::type);
  if (table != image.sections().end()) {
    GANTRY_TRY(const std::vector<ElfSymbol> symbols,
               section_symbols(image, static_cast<std::size_t>(table - image.sections().begin())));
    add_symbols(symbols, symbol, placement, size, patches);
  }
  std::ranges::sort(patches, {}, &Patch::at);
  std::uint64_t end = 0;
  for (const Patch& patch : patches) {
    if (patch.at < end) {
      return malformed(patch.at, "a symbol table begins at ", Hex{patch.at},
                       ", inside another table, which ends at ", Hex{end});
    }
    end = patch.at + patch.bytes.size();
  }
  if (end > placement.library_bytes) {
    return malformed(end, "a symbol table ends at ", Hex{end},
                     ", inside the old container, which begins at ", Hex{placement.library_bytes});
  }
  return patches;
}

// The bytes of the result up to the container.
Pieces changed_library(const std::shared_ptr<const MappedFile>& library,
                       const std::vector<Patch>& patches, const Placement& placement) {
  Pieces pieces;
  const auto copy_to = [&](std::uint64_t end) {
    if (end > pieces.size()) pieces.append(FileRange{library, pieces.size(), end - pieces.size()});
  };
  for (const Patch& patch : patches) {
    copy_to(patch.at);
    pieces.Write(patch.bytes.data(), patch.bytes.size());
  }
  copy_to(placement.library_bytes);
  pieces.write_zeros(placement.offset - placement.library_bytes);
  return pieces;
}

}  // namespace

Status append_container(const std::shared_ptr<const MappedFile>& library, std::string_view symbol,
                        const Pieces& container, dmlc::Stream& out) {
  if (container.size() == 0) return invalid("container is empty, minimum is 16 bytes");
  GANTRY_TRY(const ElfFile elf, ElfFile::parse(library));
  GANTRY_CHECK(check_kind(elf));
  GANTRY_CHECK(check_unsigned(elf.image()));
  GANTRY_TRY(const ElfSymbol* const found, find_variable(elf, symbol));
  GANTRY_CHECK(check_address_unused(elf, *found));
  GANTRY_TRY(const Placement placement, place(elf.image(), *found, container.size()));
  GANTRY_TRY(const std::vector<Patch> patches,
             patches_for(elf, *found, placement, container.size()));
  GANTRY_CHECK(changed_library(library, patches, placement).write_to(out));
  return container.write_to(out);
}

}  // namespace gantry
