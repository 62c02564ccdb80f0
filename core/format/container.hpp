// SPDX-License-Identifier: Apache-2.0
//
// A file's symbols and bytes in, modules and import tree out. Executes nothing.
//
//     exporter_facts.hpp -> container_symbols.hpp -> container_location.hpp import_tree.hpp,
//     entry.hpp -> payload_layout.hpp -> entry_cursor.hpp -> container.hpp -> details.hpp
#pragma once

#include "core/format/container_location.hpp"
#include "core/format/entry_cursor.hpp"

#include <gantry/result.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

// Names and views point into the file that was read.
struct Container {
  ExporterFacts facts;
  ContainerLayout layout = ContainerLayout::none;

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

// Reads a container step by step, for a caller that can measure payloads whose key has no layout.
class ContainerReader {
 public:
  // location  of a file without a container, too
  // layouts   borrowed
  // returns   malformed, with the offset from the container's first byte; so do the functions
  //           below. FORMAT.md, "Refusals and warnings"
  static Result<ContainerReader> open(const ContainerLocation& location,
                                      const PayloadLayouts& layouts);

  // What is read so far: no entries and tree, and facts in which G1 and G2 still count as G3.
  const Container& container() const { return container_; }

  // Reads up to the next payload whose key has no layout; see EntryCursor.
  Result<bool> next();
  // That payload's entry, its index as a module, and its length.
  Entry entry() const { return entries_->entry(); }
  std::uint64_t module_index() const { return entries_->module_index(); }
  Status accept(std::uint64_t size);

  // Reads the rest.
  // costs    O(container bytes walked); payloads that need not be walked are stepped over
  Result<Container> finish() &&;

 private:
  ContainerReader() = default;
  Status open_entries(const ContainerLocation& location, const PayloadLayouts& layouts);
  Status finish_entries();

  Container container_;
  // absent: the file has no container
  std::optional<EntryCursor> entries_;
};

// Reads a whole container: no step needs the caller.
Result<Container> read_container(const ContainerLocation& location, const PayloadLayouts& layouts);

// Bare container bytes, as `gantry pack` or an extraction leaves them: length header first.
Result<Container> read_container_bytes(std::span<const std::uint8_t> bytes,
                                       const PayloadLayouts& layouts);

// True where the bytes can be a bare container: a length that fits, then one of the two layouts.
bool looks_like_container(std::span<const std::uint8_t> bytes);

// Reads the container of a shared library or object file; a file without one is one `_lib` module.
template <SymbolFile File>
Result<Container> read_container(const File& file, const PayloadLayouts& layouts) {
  GANTRY_TRY(const ContainerLocation location, locate_container(file));
  return read_container(location, layouts);
}

}  // namespace gantry
