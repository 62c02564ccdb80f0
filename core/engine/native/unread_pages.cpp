// SPDX-License-Identifier: Apache-2.0
#include "core/engine/native/unread_pages.hpp"

#include "core/formats/elf/elf_address_uses.hpp"
#include "core/formats/elf/elf_symbol_uses.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace gantry {
namespace {

// Entries of the dynamic segment that are addresses of tables.
constexpr std::uint64_t table_tags[] = {dynamic_tag::hash,
                                        dynamic_tag::strings,
                                        dynamic_tag::symbols,
                                        dynamic_tag::relocations,
                                        dynamic_tag::plt_relocations,
                                        dynamic_tag::packed_relocations,
                                        dynamic_tag::init_array,
                                        dynamic_tag::fini_array,
                                        dynamic_tag::preinit_array,
                                        dynamic_tag::gnu_hash,
                                        dynamic_tag::versions,
                                        dynamic_tag::version_definitions,
                                        dynamic_tag::version_needs,
                                        dynamic_tag::init,
                                        dynamic_tag::fini};

bool overlap(std::uint64_t at, std::uint64_t size, std::uint64_t other, std::uint64_t other_size) {
  return at < other + other_size && other < at + size;
}

// Returns the loaded segment that has the file's bytes, or NULL.
const ElfSegment* segment_with(const ElfImage& image, std::uint64_t at, std::uint64_t size) {
  const auto found = std::ranges::find_if(image.segments(), [&](const ElfSegment& segment) {
    return segment.type == segment_type::load && at >= segment.offset &&
           at - segment.offset <= segment.file_size &&
           size <= segment.file_size - (at - segment.offset);
  });
  return found == image.segments().end() ? nullptr : &*found;
}

// True if the linker or the unwinder reads bytes of the file there.
bool has_tables(const ElfFile& elf, std::uint64_t at, std::uint64_t size,
                const AddressRange& memory) {
  const bool is_table = std::ranges::any_of(table_tags, [&](std::uint64_t tag) {
    const DynamicValue* const table = elf.dynamic().find(tag);
    return table != nullptr && memory.contains(table->value);
  });
  return is_table || std::ranges::any_of(elf.image().segments(), [&](const ElfSegment& segment) {
           const bool is_content =
               segment.type != segment_type::load && segment.type != segment_type::gnu_relro;
           return overlap(at, size, segment.at, program_header_bytes) ||
                  (is_content && overlap(at, size, segment.offset, segment.file_size));
         });
}

// True if the library stores or loads an address in the range, or has a symbol behind its beginning.
Result<bool> is_used(const ElfFile& elf, const AddressRange& memory) {
  std::vector<std::size_t> symbols;
  for (std::size_t i = 0; i < elf.symbols().size(); ++i) {
    const ElfSymbol& symbol = elf.symbols()[i];
    if (!symbol.defined() || !memory.contains(symbol.value)) continue;
    if (symbol.value != memory.begin) return true;
    symbols.push_back(i);
  }
  GANTRY_TRY(const SymbolUses uses, uses_of(elf, symbols));
  if (uses.has_others || !uses.slots.empty()) return true;
  GANTRY_TRY(const auto stored, find_address_use(elf, memory, {}));
  return stored.has_value();
}

}  // namespace

FileHole unread_pages(const ElfFile& elf, std::span<const std::uint8_t> container) {
  if (container.empty()) return {};
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const std::uint64_t at = elf.offset_in_file(container);
  const std::uint64_t first = align_up(at, page);
  const std::uint64_t end = (at + container.size()) / page * page;
  if (end <= first) return {};
  const ElfSegment* const segment = segment_with(elf.image(), at, container.size());
  if (segment == nullptr || segment->is_writable()) return {};
  const AddressRange memory{segment->address + (at - segment->offset), container.size()};
  if (has_tables(elf, at, container.size(), memory)) return {};
  const Result<bool> used = is_used(elf, memory);
  return used.ok() && !*used ? FileHole{first, end - first} : FileHole{};
}

}  // namespace gantry
