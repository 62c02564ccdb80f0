// SPDX-License-Identifier: Apache-2.0
#include "core/formats/elf/elf_loaded_memory.hpp"

#include "core/formats/elf/elf_memory.hpp"
#include "core/formats/elf/elf_relocation_tables.hpp"

#include <gantry/byte_reader.hpp>

#include <bit>
#include <cstring>
#include <optional>
#include <utility>

namespace gantry {
namespace {

class Loader {
 public:
  Loader(const ElfFile& elf, LoadedMemory& memory)
      : elf_(elf), memory_(memory), types_(symbol_relocation_types(elf.machine())) {}

  Status add_segments() {
    const std::vector<ElfSegment>& segments = elf_.image().segments();
    for (std::size_t i = 0; i < segments.size(); ++i) {
      if (segments[i].type != segment_type::load || segments[i].file_size == 0) continue;
      GANTRY_TRY(const auto bytes, elf_.image().bytes_of_segment(i));
      LoadedSegment& added = memory_.segments.emplace_back();
      added.address = segments[i].address;
      added.file = bytes;
      if (segments[i].is_writable()) added.relocated.assign(bytes.begin(), bytes.end());
      is_pointer_.emplace_back(added.relocated.size() / 8);
    }
    return {};
  }

  // DT_RELA. A word outside of writable segments is left.
  Status apply(std::span<const std::uint8_t> table) {
    ByteReader in(table, table.empty() ? 0 : elf_.image().offset_in_file(table));
    while (!in.at_end()) {
      const std::uint64_t at = in.offset();
      GANTRY_TRY(const auto entry, in.read_record<Relocation>("relocation"));
      GANTRY_CHECK(check_addend(elf_, entry, at));
      if (const auto value = value_of(entry)) write(entry.address, *value);
    }
    return {};
  }

  // DT_RELR: an even word is an address; bit i + 1 of an odd one is for the word i after the last.
  // The words have their values already.
  Status apply_packed(std::span<const std::uint8_t> table) {
    ByteReader in(table);
    std::uint64_t next = 0;
    while (!in.at_end()) {
      GANTRY_TRY(const std::uint64_t word, in.read_u64("packed relocation"));
      const bool is_address = (word & 1) == 0;
      if (is_address) next = word;
      for (std::uint64_t bits = is_address ? 1 : word >> 1; bits != 0; bits &= bits - 1) {
        const auto i = static_cast<std::uint64_t>(std::countr_zero(bits));
        (void)find(next + 8 * i);
      }
      next += is_address ? 8 : std::uint64_t{8} * 63;
    }
    return {};
  }

  // Segments have ascending addresses.
  void add_pointers() {
    for (std::size_t s = 0; s < is_pointer_.size(); ++s) {
      const std::uint64_t first = align_up(memory_.segments[s].address, 8);
      for (std::size_t i = 0; i < is_pointer_[s].size(); ++i) {
        if (is_pointer_[s][i]) memory_.pointers.push_back(first + 8 * i);
      }
    }
  }

 private:
  // Returns the address of this library that a relocation writes.
  std::optional<std::uint64_t> value_of(const Relocation& entry) const {
    if (entry.type == types_.relative) return entry.addend;
    if (entry.type != types_.absolute && entry.type != types_.address) return std::nullopt;
    if (entry.symbol == 0 || entry.symbol > elf_.symbols().size()) return std::nullopt;
    const ElfSymbol& symbol = elf_.symbols()[entry.symbol - 1];
    if (!symbol.defined()) return std::nullopt;
    return symbol.value + (entry.type == types_.absolute ? std::uint64_t{entry.addend} : 0);
  }

  // Returns the 8 bytes of a pointer in a writable segment, or NULL.
  std::uint8_t* find(std::uint64_t address) {
    for (std::size_t s = 0; s < memory_.segments.size(); ++s) {
      LoadedSegment& segment = memory_.segments[s];
      if (address < segment.address || segment.relocated.size() < 8) continue;
      const std::uint64_t into = address - segment.address;
      if (into > segment.relocated.size() - 8) continue;
      const std::uint64_t first = align_up(segment.address, 8);
      if (address % 8 == 0 && (address - first) / 8 < is_pointer_[s].size())
        is_pointer_[s][(address - first) / 8] = true;
      return segment.relocated.data() + into;
    }
    return nullptr;
  }

  void write(std::uint64_t address, std::uint64_t value) {
    if (std::uint8_t* const word = find(address)) std::memcpy(word, &value, sizeof value);
  }

  const ElfFile& elf_;
  LoadedMemory& memory_;
  SymbolRelocationTypes types_;
  // By segment and word.
  std::vector<std::vector<bool>> is_pointer_;
};

}  // namespace

Result<LoadedMemory> loaded_memory(const ElfFile& elf) {
  if (elf.machine() != ElfMachine::x86_64 && elf.machine() != ElfMachine::aarch64) {
    return unsupported("file is for ", name_of(elf.machine()),
                       ", relocations are known of x86-64 and aarch64");
  }
  // The segments share no bytes, so that the copies are no larger than the file.
  GANTRY_CHECK(ElfMemory::of(elf.image()));
  GANTRY_TRY(const RelocationTables tables, relocation_tables(elf));
  LoadedMemory memory;
  Loader loader(elf, memory);
  GANTRY_CHECK(loader.add_segments());
  GANTRY_CHECK(loader.apply_packed(tables.packed));
  GANTRY_CHECK(loader.apply(tables.data));
  GANTRY_CHECK(loader.apply(tables.calls));
  loader.add_pointers();
  return memory;
}

}  // namespace gantry
