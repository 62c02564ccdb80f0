// SPDX-License-Identifier: Apache-2.0
//
// The one door: a file's symbols and bytes in, modules and import tree out. Executes nothing.
//
//     limits.hpp -> import_tree.hpp, entry.hpp -> layout.hpp -> payload_layout.hpp
//                -> layout1.hpp, layout2.hpp -> container.hpp -> details.hpp
#pragma once

#include "core/format/entry.hpp"
#include "core/format/import_tree.hpp"
#include "core/format/layout.hpp"
#include "core/format/payload_layout.hpp"

#include <gantry/result.hpp>

#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

// Names and views point into the file that was read.
struct Container {
  Generation generation = Generation::none;
  Dialect dialect = Dialect::unknown;
  ContainerLayout layout = ContainerLayout::none;
  // for PayloadLayouts and details
  PayloadContext context;

  // empty: no container, or bare bytes
  std::string_view blob_symbol;
  // empty: the file has none
  std::string_view context_symbol;
  // of a prefixed system library
  std::string_view prefix;

  // from the first byte (the length header, if any) to the last
  std::span<const std::uint8_t> bytes;
  // of bytes, in the file
  std::uint64_t file_offset = 0;

  // Module i, in index order; module 0 is the root. A file without a container, and the root of a
  // container without a tree, is one `_lib`.
  std::vector<Entry> entries;
  // as many modules as entries
  ImportTree tree;

  // Legal but odd, or read by a guess; one sentence each.
  std::vector<std::string> warnings;
};

// Where a container lies. Filled by read_container(file) below; by hand for bare bytes.
struct ContainerLocation {
  // from the first byte as far as it could reach
  std::span<const std::uint8_t> room;
  // of room
  std::uint64_t file_offset = 0;
  // 0: not known
  std::uint64_t symbol_size = 0;
  // value of __tvm_dev_mblob_nbytes, where symbols.size is set
  std::uint64_t headless_size = 0;
};

// returns  malformed, with the offset from the container's first byte; the table of what is refused
//          and what is a warning is in FORMAT.md, "What is judged how"
// costs    O(container bytes walked); payloads that need not be walked are stepped over
Result<Container> read_container(std::span<const HostSymbol> symbols,
                                 const ContainerSymbols& chosen, const ContainerLocation& location,
                                 const PayloadLayouts& layouts);

// Bare container bytes, as `gantry pack` or an extraction leaves them: length header first.
Result<Container> read_container_bytes(std::span<const std::uint8_t> bytes,
                                       const PayloadLayouts& layouts);

// True where the bytes can be a bare container: a length that fits, then one of the two layouts.
bool looks_like_container(std::span<const std::uint8_t> bytes);

// What a file must offer; ElfFile does. This room knows no file format.
template <class File>
concept SymbolFile = requires(const File& file) {
  { file.symbols()[0].name } -> std::convertible_to<std::string_view>;
  { file.symbols()[0].size } -> std::convertible_to<std::uint64_t>;
  { file.symbols()[0].defined() } -> std::convertible_to<bool>;
  { *file.bytes_from(file.symbols()[0]) } -> std::convertible_to<std::span<const std::uint8_t>>;
  { file.offset_in_file(std::span<const std::uint8_t>()) } -> std::convertible_to<std::uint64_t>;
};

// Reads the container of a shared library or object file; a file without one is one `_lib` module.
template <SymbolFile File>
Result<Container> read_container(const File& file, const PayloadLayouts& layouts) {
  std::vector<HostSymbol> symbols;
  symbols.reserve(file.symbols().size());
  for (const auto& symbol : file.symbols()) {
    symbols.push_back({symbol.name, symbol.size, symbol.defined()});
  }
  const ContainerSymbols chosen = choose_symbols(symbols);
  ContainerLocation location;
  const auto from = [&](std::size_t index) -> Result<std::span<const std::uint8_t>> {
    auto bytes = file.bytes_from(file.symbols()[index]);
    if (!bytes.ok())
      return std::move(bytes).failure().at("while reading symbol ", symbols[index].name);
    return bytes;
  };
  if (chosen.blob) {
    GANTRY_TRY(location.room, from(*chosen.blob));
    location.file_offset = file.offset_in_file(location.room);
    location.symbol_size = symbols[*chosen.blob].size;
  }
  if (chosen.size) {
    GANTRY_TRY(const auto number, from(*chosen.size));
    ByteReader in(number, file.offset_in_file(number));
    GANTRY_TRY(location.headless_size,
               in.read_u64(std::string(symbols[*chosen.size].name).c_str()));
  }
  return read_container(symbols, chosen, location, layouts);
}

}  // namespace gantry
