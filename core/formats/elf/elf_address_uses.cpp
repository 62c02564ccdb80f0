// SPDX-License-Identifier: Apache-2.0
#include "core/formats/elf/elf_address_uses.hpp"

#include "core/formats/elf/elf_relocation_tables.hpp"

#include <gantry/byte_reader.hpp>

#include <bit>
#include <span>

namespace gantry {
namespace {

using Found = std::optional<std::uint64_t>;

class Search {
 public:
  Search(const ElfFile& elf, const AddressRange& range, std::string_view except)
      : elf_(elf), range_(range), except_(except), types_(symbol_relocation_types(elf.machine())) {}

  // DT_RELA and DT_JMPREL
  Result<Found> in_table(std::span<const std::uint8_t> table) const {
    ByteReader in(table, table.empty() ? 0 : elf_.image().offset_in_file(table));
    while (!in.at_end()) {
      const std::uint64_t at = in.offset();
      GANTRY_TRY(const auto entry, in.read_record<Relocation>("relocation"));
      if (is_use(entry)) return Found(at);
    }
    return Found();
  }

  // DT_RELR: an even word is an address; bit i + 1 of an odd one is for the word i after the last.
  Result<Found> in_packed(std::span<const std::uint8_t> table) const {
    ByteReader in(table, table.empty() ? 0 : elf_.image().offset_in_file(table));
    std::uint64_t next = 0;
    while (!in.at_end()) {
      const std::uint64_t at = in.offset();
      GANTRY_TRY(const std::uint64_t word, in.read_u64("packed relocation"));
      const bool is_address = (word & 1) == 0;
      if (is_address) next = word;
      for (std::uint64_t bits = is_address ? 1 : word >> 1; bits != 0; bits &= bits - 1) {
        const auto i = static_cast<std::uint64_t>(std::countr_zero(bits));
        GANTRY_TRY(const std::uint64_t value, value_at(next + 8 * i, at));
        if (range_.contains(value)) return Found(at);
      }
      next += is_address ? 8 : std::uint64_t{8} * 63;
    }
    return Found();
  }

 private:
  bool is_use(const Relocation& entry) const {
    if (entry.type == types_.relative) return range_.contains(entry.addend);
    if (entry.type != types_.absolute) return false;
    if (entry.symbol == 0) return range_.contains(entry.addend);
    if (entry.symbol > elf_.symbols().size()) return false;
    const ElfSymbol& symbol = elf_.symbols()[entry.symbol - 1];
    return symbol.defined() && symbol.name != except_ &&
           range_.contains(symbol.value + entry.addend);
  }

  Result<std::uint64_t> value_at(std::uint64_t address, std::uint64_t at) const {
    GANTRY_TRY(const auto bytes,
               elf_.image().bytes_to_segment_end(address, {"address of a relocation", at}));
    ByteReader in(bytes, elf_.image().offset_in_file(bytes));
    return in.read_u64("relocated word");
  }

  const ElfFile& elf_;
  AddressRange range_;
  std::string_view except_;
  SymbolRelocationTypes types_;
};

}  // namespace

Result<std::optional<std::uint64_t>> find_address_use(const ElfFile& elf, const AddressRange& range,
                                                      std::string_view except) {
  GANTRY_TRY(const RelocationTables tables, relocation_tables(elf));
  const Search search(elf, range, except);
  GANTRY_TRY(const Found packed, search.in_packed(tables.packed));
  if (packed) return packed;
  GANTRY_TRY(const Found data, search.in_table(tables.data));
  if (data) return data;
  return search.in_table(tables.calls);
}

}  // namespace gantry
