// SPDX-License-Identifier: Apache-2.0
//
// Reads the modules and the import tree of a file from its symbols and bytes. Executes nothing.
//
//     generation.hpp -> exporter_facts.hpp -> container_symbols.hpp -> container_location.hpp,
//     import_tree.hpp, entry.hpp -> payload_layout.hpp -> entry_cursor.hpp -> container.hpp ->
//     details.hpp
#pragma once

#include "core/formats/container_location.hpp"
#include "core/formats/entry_cursor.hpp"

#include <gantry/result.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

// The content of a container. Names and views point into the file that was read.
struct Container {
  ExporterFacts facts;
  ContainerLayout layout = ContainerLayout::none;

  // empty: no container, or bare bytes
  std::string_view blob_symbol;
  // empty: the file has none
  std::string_view context_symbol;
  // symbol prefix of a system library; usually empty
  std::string_view prefix;

  // the whole container, including its length header if it has one
  std::span<const std::uint8_t> bytes;
  // file offset of `bytes`
  std::uint64_t file_offset = 0;

  // Module i, in index order; module 0 is the root. A file without a container is one `_lib`
  // module, as is the root of a container without a tree.
  std::vector<Entry> entries;
  // has as many modules as there are entries
  ImportTree tree;

  // unusual but legal content, and results of guesses; one sentence each
  std::vector<Message> warnings;
};

// Reads a container step by step, for a caller that can determine the length of payloads whose key
// has no layout.
class ContainerReader {
 public:
  // location  may be that of a file without a container
  // layouts   borrowed
  // returns   malformed, with the offset from the container's first byte, as do the functions
  //           below; see "Errors and warnings" in FORMAT.md
  static Result<ContainerReader> open(const ContainerLocation& location,
                                      const PayloadLayouts& layouts);

  // The result so far, without entries and tree. In its facts, G1 and G2 are not yet distinguished
  // from G3.
  const Container& container() const { return container_; }

  // Reads up to the next payload whose key has no layout; see EntryCursor, also for the next three.
  Result<bool> next();
  Entry entry() const { return entries_->entry(); }
  std::uint64_t module_index() const { return entries_->module_index(); }
  Status accept(std::uint64_t size);

  // Reads the rest.
  //
  // costs    O(container bytes read); payloads with a known length are skipped
  Result<Container> finish() &&;

 private:
  ContainerReader() = default;
  Status open_entries(const ContainerLocation& location, const PayloadLayouts& layouts);
  Status finish_entries();

  Container container_;
  // absent: the file has no container
  std::optional<EntryCursor> entries_;
};

// Reads a whole container. A payload without a known length is recovered as far as possible.
Result<Container> read_container(const ContainerLocation& location, const PayloadLayouts& layouts);

// The location of a container that is not embedded in a file, as `gantry pack` or an extraction
// writes it. It begins with the length header.
ContainerLocation bare_location(std::span<const std::uint8_t> bytes);

// Reads a container at bare_location(). Bytes after it are a warning.
Result<Container> read_container_bytes(std::span<const std::uint8_t> bytes,
                                       const PayloadLayouts& layouts);

// True if the bytes may be a bare container: they begin with a valid length, and one of the two
// layouts follows.
bool looks_like_container(std::span<const std::uint8_t> bytes);

// Reads the container of a shared library or object file. A file without a container is one `_lib`
// module.
template <SymbolFile File>
Result<Container> read_container(const File& file, const PayloadLayouts& layouts) {
  GANTRY_TRY(const ContainerLocation location, locate_container(file));
  return read_container(location, layouts);
}

}  // namespace gantry
