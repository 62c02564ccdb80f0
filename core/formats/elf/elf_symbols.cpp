// SPDX-License-Identifier: Apache-2.0
#include "core/formats/elf/elf_symbols.hpp"

#include <gantry/byte_count.hpp>
#include <gantry/byte_reader.hpp>

#include <algorithm>
#include <bit>
#include <cstring>

namespace gantry {

Result<std::string_view> StringTable::name(std::uint64_t offset, std::string_view field) {
  if (offset >= bytes_.size()) {
    return malformed(at_, field, " is at offset ", offset, ", string table has ",
                     ByteCount(bytes_.size()));
  }
  const auto tail = bytes_.subspan(offset);
  const void* end = std::memchr(tail.data(), 0, std::min<std::uint64_t>(tail.size(), budget_ + 1));
  if (end == nullptr) {
    if (tail.size() > budget_) {
      return malformed(at_ + offset, field, " exceeds the limit on the total length of names, ",
                       ByteCount(names_for_free), " and ", names_per_byte,
                       " times the string table, which has ", ByteCount(bytes_.size()));
    }
    return malformed(at_ + offset, field, " has no NUL in its string table");
  }
  const auto size = static_cast<std::size_t>(static_cast<const std::uint8_t*>(end) - tail.data());
  budget_ -= size;
  return std::string_view(reinterpret_cast<const char*>(tail.data()), size);
}

Result<std::vector<ElfSymbol>> read_symbols(std::span<const std::uint8_t> table, std::uint64_t at,
                                            StringTable& strings) {
  const std::uint64_t count = table.size() / symbol_bytes;
  std::vector<ElfSymbol> symbols;
  if (count <= 1) return symbols;
  symbols.reserve(count - 1);
  ByteReader in(table, at);
  GANTRY_CHECK(in.skip(symbol_bytes, "null symbol"));
  for (std::uint64_t i = 1; i < count; ++i) {
    ElfSymbol symbol;
    symbol.at = in.offset();
    GANTRY_TRY(const std::uint32_t name_at, in.read_u32("symbol name"));
    GANTRY_TRY(const std::uint8_t info, in.read_u8("symbol type"));
    GANTRY_TRY(const std::uint8_t other, in.read_u8("symbol visibility"));
    GANTRY_TRY(symbol.section, in.read_u16("symbol section"));
    GANTRY_TRY(symbol.value, in.read_u64("symbol value"));
    GANTRY_TRY(symbol.size, in.read_u64("symbol size"));
    auto name = strings.name(name_at, "symbol name");
    if (!name.ok()) return std::move(name).failure().at("while reading symbol ", i);
    symbol.name = *name;
    symbol.type = static_cast<SymbolType>(info & 15);
    symbol.binding = static_cast<SymbolBinding>(info >> 4);
    symbol.visibility = static_cast<SymbolVisibility>(other & 3);
    symbols.push_back(symbol);
  }
  return symbols;
}

// Layout: u32 bucket count, u32 chain count, u32 bucket[], u32 chain[] with one word per symbol.
Result<std::uint64_t> symbol_count_of_hash(std::span<const std::uint8_t> table, std::uint64_t at) {
  ByteReader in(table, at);
  GANTRY_TRY(const std::uint32_t buckets, in.read_u32("DT_HASH bucket count"));
  GANTRY_TRY(const std::uint32_t chains, in.read_u32("DT_HASH chain count"));
  const std::uint64_t words = std::uint64_t{buckets} + chains;
  if (words > in.left() / 4) {
    return malformed(at, "DT_HASH has ", buckets, " buckets and ", chains, " chains, room for ",
                     in.left() / 4);
  }
  return chains;
}

Status check_hash_chains(std::span<const std::uint8_t> table, std::uint64_t at) {
  GANTRY_TRY(const std::uint64_t symbols, symbol_count_of_hash(table, at));
  ByteReader buckets(table, at);
  GANTRY_TRY(const std::uint32_t bucket_count, buckets.read_u32("DT_HASH bucket count"));
  GANTRY_CHECK(buckets.skip(4, "DT_HASH chain count"));
  const auto chains = table.subspan(8 + std::size_t{4} * bucket_count);
  // A symbol is in one chain only, so a valid table has no more steps than symbols.
  std::uint64_t steps = 0;
  for (std::uint32_t i = 0; i < bucket_count; ++i) {
    GANTRY_TRY(std::uint32_t symbol, buckets.read_u32("DT_HASH bucket"));
    for (; symbol != 0; ++steps) {
      if (symbol >= symbols) {
        return malformed(at, "DT_HASH names symbol ", symbol, ", symbol count is ", symbols);
      }
      if (steps == symbols) return malformed(at, "DT_HASH chain ", i, " does not end");
      ByteReader link(chains.subspan(std::size_t{4} * symbol));
      GANTRY_TRY(symbol, link.read_u32("DT_HASH chain"));
    }
  }
  return {};
}

// Layout: u32 bucket count, u32 first hashed symbol, u32 bloom words, u32 shift; u64 bloom[];
// u32 bucket[]; u32 chain[] with one word per hashed symbol, bit 0 set in the last one of a bucket.
Result<HashedSymbols> read_gnu_hash(std::span<const std::uint8_t> table, std::uint64_t at) {
  ByteReader in(table, at);
  GANTRY_TRY(const std::uint32_t buckets, in.read_u32("DT_GNU_HASH bucket count"));
  GANTRY_TRY(const std::uint32_t first, in.read_u32("DT_GNU_HASH first symbol"));
  GANTRY_TRY(const std::uint32_t bloom_words, in.read_u32("DT_GNU_HASH bloom size"));
  GANTRY_CHECK(in.skip(4, "DT_GNU_HASH shift"));
  GANTRY_CHECK(in.skip(std::uint64_t{bloom_words} * 8, "DT_GNU_HASH bloom filter"));
  std::uint32_t last = 0;
  if (buckets > in.left() / 4) {
    return malformed(at, "DT_GNU_HASH has ", buckets, " buckets, room for ", in.left() / 4);
  }
  if (buckets != 0 && !std::has_single_bit(bloom_words)) {
    return malformed(at, "DT_GNU_HASH has a bloom filter of ", bloom_words,
                     " words, expected a power of two");
  }
  for (std::uint32_t i = 0; i < buckets; ++i) {
    GANTRY_TRY(const std::uint32_t symbol, in.read_u32("DT_GNU_HASH bucket"));
    if (symbol != 0 && symbol < first) {
      return malformed(at, "DT_GNU_HASH bucket names symbol ", symbol, ", first hashed symbol is ",
                       first);
    }
    last = std::max(last, symbol);
  }
  if (last == 0) return HashedSymbols{first, first};
  GANTRY_CHECK(in.skip((std::uint64_t{last} - first) * 4, "DT_GNU_HASH chain"));
  for (std::uint64_t symbol = last;; ++symbol) {
    GANTRY_TRY(const std::uint32_t link, in.read_u32("DT_GNU_HASH chain"));
    if ((link & 1) != 0) return HashedSymbols{first, symbol + 1};
  }
}

Result<std::vector<ElfVersionNeed>> read_version_needs(std::span<const std::uint8_t> table,
                                                       std::uint64_t at, std::uint64_t count,
                                                       StringTable& strings) {
  constexpr std::uint64_t need_bytes = 16;
  constexpr std::uint64_t version_bytes = 16;
  std::vector<ElfVersionNeed> needs;
  // Entries of a hostile file may overlap: never read more versions than the table has room for.
  std::uint64_t versions_left = table.size() / version_bytes;
  std::uint64_t need_at = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (need_at > table.size()) {
      return malformed(at, "version need ", i, " is at offset ", need_at, ", table has ",
                       ByteCount(table.size()));
    }
    ByteReader in(table.subspan(need_at), at + need_at);
    GANTRY_CHECK(in.skip(2, "version need"));
    GANTRY_TRY(const std::uint16_t versions, in.read_u16("version count"));
    GANTRY_TRY(const std::uint32_t file_name_at, in.read_u32("version file name"));
    GANTRY_TRY(const std::uint32_t first, in.read_u32("version offset"));
    GANTRY_TRY(const std::uint32_t next, in.read_u32("next version need"));
    GANTRY_TRY(const auto file, strings.name(file_name_at, "version file name"));
    std::uint64_t version_at = need_at + first;
    for (std::uint32_t v = 0; v < versions; ++v) {
      if (versions_left-- == 0 || version_at > table.size()) {
        return malformed(at + need_at, "version need ", i, " has ", versions,
                         " versions, which exceed their table");
      }
      ByteReader one(table.subspan(version_at), at + version_at);
      GANTRY_CHECK(one.skip(4, "version hash"));
      GANTRY_TRY(const std::uint16_t flags, one.read_u16("version flags"));
      GANTRY_CHECK(one.skip(2, "version index"));
      GANTRY_TRY(const std::uint32_t name_at, one.read_u32("version name"));
      GANTRY_TRY(const std::uint32_t step, one.read_u32("next version"));
      GANTRY_TRY(const auto version, strings.name(name_at, "version name"));
      needs.push_back({file, version, (flags & 2) != 0});
      if (step == 0) break;
      version_at += step;
    }
    // 0 ends the list; a step smaller than an entry could loop and ends it, too
    if (next < need_bytes) break;
    need_at += next;
  }
  return needs;
}

void append_notes(std::span<const std::uint8_t> segment, std::vector<ElfNote>& notes) {
  ByteReader in(segment);
  const auto padded = [](std::uint64_t size) { return (size + 3) & ~std::uint64_t{3}; };
  while (in.left() >= 12) {
    const std::uint64_t owner_bytes = *in.read_u32("note owner size");
    const std::uint64_t content_bytes = *in.read_u32("note content size");
    const std::uint32_t type = *in.read_u32("note type");
    const auto owner = in.peek(owner_bytes);
    if (!in.skip(padded(owner_bytes), "note owner").ok()) return;
    const auto content = in.read_bytes(content_bytes, "note content");
    if (!content.ok()) return;
    std::string_view name(reinterpret_cast<const char*>(owner.data()), owner.size());
    notes.push_back({name.substr(0, name.find('\0')), type, *content});
    if (!in.skip(padded(content_bytes) - content_bytes, "note padding").ok()) return;
  }
}

}  // namespace gantry
