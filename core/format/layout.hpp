// SPDX-License-Identifier: Apache-2.0
//
// Which exporter wrote a container: generation and calling convention, from symbol names and bytes.
#pragma once

#include "core/format/import_tree.hpp"

#include <gantry/result.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

// See FORMAT.md, "Generations".
enum class Generation : std::uint8_t { none, g0, g1, g2, g3, g3x, g4, g4x, g5, unknown };
// "none", "G0", ... "G3x", ... "unknown"
std::string_view name_of(Generation generation);

// What compiled host code calls and expects: TVMValue and type codes, or TVMFFIAny.
enum class Dialect : std::uint8_t { packed, ffi, unknown };
// "packed", "ffi", "unknown"
std::string_view name_of(Dialect dialect);

// The two forms of the bytes behind the length header.
enum class ContainerLayout : std::uint8_t {
  // no container
  none,
  // count, entries without lengths, tree last (G0 to G4)
  one,
  // tree first, every payload behind its length (G4x, G5)
  two,
};

// Tells the two apart by the first two words behind the header.
//
// content  what follows the length header
// returns  none: neither of the two
ContainerLayout layout_of(std::span<const std::uint8_t> content);

// One dynamic symbol of the file that may hold a container.
struct HostSymbol {
  std::string_view name;
  // 0: not known
  std::uint64_t size = 0;
  bool defined = false;
};

// The symbols that matter to the container, as indices into the list they were found in.
struct ContainerSymbols {
  enum class Family : std::uint8_t { none, legacy, ffi_first, ffi };

  // by the name of the blob symbol
  Family family = Family::none;
  // [prefix]__tvm_dev_mblob, __tvm_ffi_library_bin, ...
  std::optional<std::size_t> blob;
  // __tvm_dev_mblob_nbytes: the container has no length header
  std::optional<std::size_t> size;
  // the slot for the module handle; often absent
  std::optional<std::size_t> context;
  // of a prefixed system library; usually empty
  std::string_view prefix;
  Dialect dialect = Dialect::unknown;
  // further containers in the same file
  std::vector<std::string> warnings;
};

// costs    O(symbols)
ContainerSymbols choose_symbols(std::span<const HostSymbol> symbols);

// The generation that symbol, layout and tree prove together.
//
// libraries    entries with key `_lib`
// tree         null where the container has none
Generation generation_of(const ContainerSymbols& symbols, ContainerLayout layout,
                         std::uint64_t libraries, const ImportTree* tree);

}  // namespace gantry
