// SPDX-License-Identifier: Apache-2.0
//
// Finds the container of a file by the file's symbols.
#pragma once

#include "core/formats/container_symbols.hpp"

#include <gantry/byte_reader.hpp>
#include <gantry/result.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

// Created by locate_container(), or by hand for a bare container. Names and views point into the
// file.
struct ContainerLocation {
  ContainerSymbols symbols;
  // empty: no container, or bare bytes
  std::string_view blob_symbol;
  // empty: the file has none
  std::string_view context_symbol;
  // from the container's first byte to the end of its segment; absent: the file has no container
  std::optional<std::span<const std::uint8_t>> room;
  // file offset of `room`
  std::uint64_t file_offset = 0;
  // 0: unknown
  std::uint64_t symbol_size = 0;
  // value of __tvm_dev_mblob_nbytes if symbols.size is set
  std::uint64_t headless_size = 0;
};

// The interface of a file with symbols, for example ElfFile. This component does not depend on a
// file format.
template <class File>
concept SymbolFile = requires(const File& file) {
  { file.symbols()[0].name } -> std::convertible_to<std::string_view>;
  { file.symbols()[0].size } -> std::convertible_to<std::uint64_t>;
  { file.symbols()[0].defined() } -> std::convertible_to<bool>;
  { *file.bytes_from(file.symbols()[0]) } -> std::convertible_to<std::span<const std::uint8_t>>;
  { file.offset_in_file(std::span<const std::uint8_t>()) } -> std::convertible_to<std::uint64_t>;
};

// Finds the container of a shared library or object file.
//
// prefix   see choose_symbols()
// returns  malformed if the bytes of a symbol are not in the file
// costs    O(symbols)
template <SymbolFile File>
Result<ContainerLocation> locate_container(const File& file, std::string_view prefix = {}) {
  std::vector<CpuSymbol> symbols;
  symbols.reserve(file.symbols().size());
  for (const auto& symbol : file.symbols()) {
    symbols.push_back({symbol.name, symbol.size, symbol.defined()});
  }
  const auto from = [&](std::size_t index) -> Result<std::span<const std::uint8_t>> {
    auto bytes = file.bytes_from(file.symbols()[index]);
    if (!bytes.ok()) {
      return std::move(bytes).failure().at("while reading symbol ", symbols[index].name);
    }
    return bytes;
  };
  ContainerLocation location;
  location.symbols = choose_symbols(symbols, prefix);
  const ContainerSymbols& chosen = location.symbols;
  if (chosen.context) location.context_symbol = symbols[*chosen.context].name;
  if (chosen.blob) {
    GANTRY_TRY(location.room, from(*chosen.blob));
    location.blob_symbol = symbols[*chosen.blob].name;
    location.file_offset = file.offset_in_file(*location.room);
    location.symbol_size = symbols[*chosen.blob].size;
  }
  if (chosen.size) {
    GANTRY_TRY(const auto number, from(*chosen.size));
    ByteReader in(number, file.offset_in_file(number));
    GANTRY_TRY(location.headless_size,
               in.read_u64(std::string(symbols[*chosen.size].name).c_str()));
  }
  return location;
}

}  // namespace gantry
