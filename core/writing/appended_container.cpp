// SPDX-License-Identifier: Apache-2.0
#include "core/writing/appended_container.hpp"

#include "core/base/near_name.hpp"
#include "core/formats/container_symbols.hpp"
#include "core/formats/elf/elf_address_uses.hpp"
#include "core/formats/elf/elf_file.hpp"
#include "core/formats/elf/elf_memory.hpp"
#include "core/formats/elf/elf_sections.hpp"
#include "core/formats/elf/elf_signature.hpp"
#include "core/formats/elf/elf_symbol_uses.hpp"
#include "core/formats/elf/elf_symbols.hpp"
#include "core/writing/container_section.hpp"
#include "core/writing/free_program_header.hpp"
#include "core/writing/patched_file.hpp"

#include <gantry/byte_count.hpp>
#include <gantry/join.hpp>
#include <gantry/quoted.hpp>

#include <elf.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gantry {
namespace {

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
  if (!elf.is_shared_library()) {
    return unsupported(no_library_text("file", elf)).with_reason("FILE_KIND");
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
  ContainerSegment segment;
  std::uint64_t alignment = 0;
  // bytes of the library that precede it
  std::uint64_t library_bytes = 0;
  ContainerSection section;
};

std::size_t last_loaded(const ElfImage& image) {
  const auto& segments = image.segments();
  const auto last = std::find_if(segments.rbegin(), segments.rend(), [](const ElfSegment& segment) {
    return segment.type == segment_type::load;
  });
  return static_cast<std::size_t>(segments.rend() - last) - 1;
}

// Returns the section for another container in the last segment, if append_container() has written
// that: it contains the symbol and nothing else.
Result<std::optional<ContainerSection>> section_in_place(const ElfImage& image,
                                                         const ElfSegment& last,
                                                         const ElfSymbol& symbol) {
  const bool is_appended = last.address == symbol.value && last.memory_size == symbol.size &&
                           last.file_size == symbol.size && last.flags == PF_R &&
                           last.offset % page_bytes(image.machine()) == 0 &&
                           image.segments().back().at + program_header_bytes <= last.offset;
  if (!is_appended) return std::optional<ContainerSection>();
  return ContainerSection::in_place_of(image, last);
}

Result<Placement> place_behind(const ElfImage& image) {
  GANTRY_TRY(ContainerSection section, ContainerSection::added_to(image));
  Placement placement{.section = section};
  GANTRY_TRY(placement.header, find_free_program_header(image));
  const std::uint64_t page = page_bytes(image.machine());
  placement.alignment = page;
  std::uint64_t end = 0;
  for (std::size_t i = 0; i < image.segments().size(); ++i) {
    const ElfSegment& segment = image.segments()[i];
    if (segment.type != segment_type::load) continue;
    if (segment.alignment > max_alignment ||
        (segment.alignment != 0 && !std::has_single_bit(segment.alignment))) {
      return malformed(segment.at + offsetof(Elf64_Phdr, p_align), "segment ", i, " is aligned to ",
                       segment.alignment, ", expected a power of two up to ", max_alignment);
    }
    placement.alignment = std::max(placement.alignment, segment.alignment);
    end = std::max(end, segment.address + segment.memory_size);
  }
  placement.library_bytes = image.bytes().size();
  placement.segment.offset = align_up(placement.library_bytes, page);
  // The linker requires equal remainders of offset and address.
  placement.segment.address =
      align_up(end, placement.alignment) + placement.segment.offset % placement.alignment;
  return placement;
}

Result<Placement> place(const ElfImage& image, const ElfSymbol& symbol, std::uint64_t size) {
  const std::size_t last_index = last_loaded(image);
  const ElfSegment& last = image.segments()[last_index];
  GANTRY_TRY(const std::optional<ContainerSection> in_place, section_in_place(image, last, symbol));
  auto found = in_place ? Result<Placement>(Placement{last_index,
                                                      {last.offset, last.address, size},
                                                      last.alignment,
                                                      last.offset,
                                                      *in_place})
                        : place_behind(image);
  GANTRY_TRY(Placement placement, std::move(found));
  placement.segment.size = size;
  const std::uint64_t address = placement.segment.address;
  if (address >= max_address || size > max_address - address) {
    return unsupported("container of ", ByteCount(size), " would be at address ", Hex{address},
                       ", limit of addresses is ", Hex{max_address});
  }
  return placement;
}

// The program header table with the container's segment after the other loaded ones.
Patch header_table(const ElfImage& image, const Placement& placement) {
  const auto& segments = image.segments();
  Elf64_Phdr container{};
  container.p_type = PT_LOAD;
  container.p_flags = PF_R;
  container.p_offset = placement.segment.offset;
  container.p_vaddr = container.p_paddr = placement.segment.address;
  container.p_filesz = container.p_memsz = placement.segment.size;
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
                 const Placement& placement, std::vector<Patch>& patches) {
  for (const ElfSymbol& symbol : symbols) {
    const bool is_container =
        symbol.name == old.name && symbol.defined() && symbol.value == old.value;
    std::uint16_t section = placement.section.renumbered(symbol.section);
    if (is_container) section = placement.section.number().value_or(section);
    if (section != symbol.section) {
      patches.push_back({symbol.at + offsetof(Elf64_Sym, st_shndx), bytes_of_record(section)});
    }
    if (!is_container) continue;
    patches.push_back(
        {symbol.at + offsetof(Elf64_Sym, st_value),
         bytes_of_record(placement.segment.address) + bytes_of_record(placement.segment.size)});
  }
}

// Sorts the patches and checks that they are disjoint, and in those parts of the library that are
// copied.
Status check_patches(const Placement& placement, std::vector<Patch>& patches) {
  std::ranges::sort(patches, {}, &Patch::at);
  std::uint64_t end = 0;
  for (const Patch& patch : patches) {
    if (patch.at < end) {
      return malformed(patch.at, "an entry of a table begins at ", Hex{patch.at},
                       ", inside another one, which ends at ", Hex{end});
    }
    end = patch.end();
    const bool is_copied =
        end <= placement.library_bytes ||
        (patch.at >= placement.section.tail_begin() && end <= placement.section.tail_end());
    if (is_copied) continue;
    return malformed(end, "a symbol table ends at ", Hex{end},
                     ", inside the part of the file that is replaced, which begins at ",
                     Hex{placement.library_bytes});
  }
  return {};
}

// What changes in the library, but for its ELF header.
Result<std::vector<Patch>> patches_for(const ElfFile& elf, const ElfSymbol& symbol,
                                       const Placement& placement) {
  const ElfImage& image = elf.image();
  std::vector<Patch> patches = {header_table(image, placement)};
  add_symbols(elf.symbols(), symbol, placement, patches);
  // A file has at most one such section.
  const auto table = std::ranges::find(image.sections(), section_type::symbols, &ElfSection::type);
  if (table != image.sections().end()) {
    GANTRY_TRY(const std::vector<ElfSymbol> symbols,
               section_symbols(image, static_cast<std::size_t>(table - image.sections().begin())));
    add_symbols(symbols, symbol, placement, patches);
  }
  return patches;
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
  GANTRY_TRY(std::vector<Patch> patches, patches_for(elf, *found, placement));
  auto tail = placement.section.tail(PatchedFile(library, patches), placement.segment,
                                     page_bytes(elf.machine()));
  std::ranges::move(tail.header, std::back_inserter(patches));
  GANTRY_CHECK(check_patches(placement, patches));
  Pieces head;
  PatchedFile(library, std::move(patches)).append_range(0, placement.library_bytes, head);
  head.write_zeros(placement.segment.offset - placement.library_bytes);
  GANTRY_CHECK(head.write_to(out));
  GANTRY_CHECK(container.write_to(out));
  return tail.bytes.write_to(out);
}

}  // namespace gantry
