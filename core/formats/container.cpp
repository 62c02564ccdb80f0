// SPDX-License-Identifier: Apache-2.0
#include "core/formats/container.hpp"

#include <gantry/byte_count.hpp>
#include <gantry/byte_reader.hpp>
#include <gantry/quoted.hpp>

#include <iterator>
#include <utility>

namespace gantry {
namespace {

using Family = ContainerSymbols::Family;

constexpr std::uint64_t header_bytes = 8;

// Returns the bytes of the container, whose length is in its header or size symbol.
Result<std::span<const std::uint8_t>> delimit(const ContainerLocation& location,
                                              std::vector<Message>& warnings) {
  ByteReader in(*location.room);
  const bool headless = location.symbols.size.has_value();
  std::uint64_t content = location.headless_size;
  if (!headless) {
    GANTRY_TRY(content, in.read_u64("container header"));
  }
  const std::uint64_t header = headless ? 0 : header_bytes;
  if (content < 8) {
    return malformed(0, "container has ", ByteCount(content), " of content, minimum is 8")
        .with_reason("BLOB_SIZE");
  }
  if (content > in.left()) {
    return malformed(0, "container has ", ByteCount(content),
                     " of content, its segment has room for ", ByteCount(in.left()))
        .with_reason("BLOB_SIZE");
  }
  if (location.symbol_size != 0 && location.symbol_size < header + content) {
    return malformed(0, "container takes ", ByteCount(header + content), ", its symbol has ",
                     ByteCount(location.symbol_size))
        .with_reason("BLOB_SIZE");
  }
  if (location.symbol_size > header + content) {
    warnings.push_back(Message("container takes ", ByteCount(header + content), ", its symbol has ",
                               ByteCount(location.symbol_size)));
  }
  return location.room->first(header + content);
}

ContainerLayout layout_by(Family family, std::span<const std::uint8_t> content) {
  switch (family) {
    case Family::legacy:
      return ContainerLayout::one;
    case Family::ffi:
      return ContainerLayout::two;
    default:
      return layout_of(content);
  }
}

// The values that layout_of() compares, for errors: "2, 1000" or "2, 4, \"\x01...\"".
std::string beginning_of(std::span<const std::uint8_t> content) {
  ByteReader in(content);
  // delimit() guarantees 8 bytes
  const std::uint64_t count = *in.read_u64("first word");
  if (const auto key = ByteReader(in.rest()).read_string("type key"); key.ok()) {
    return concat(count, ", ", key->size(), ", ", quoted(*key));
  }
  if (const auto second = in.read_u64("second word"); second.ok()) {
    return concat(count, ", ", *second);
  }
  return concat(count);
}

// The root of a container without a tree, and the one module of a file without a container.
constexpr Entry library_entry{library_key, 0, {}, Boundary::exact};

void append(std::vector<Message>& to, std::vector<Message> from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

// Adds the blob symbol to an error. A bare container has none.
template <class T>
Result<T> in_container(Result<T> result, std::string_view blob_symbol) {
  if (result.ok() || blob_symbol.empty()) return result;
  return std::move(result).failure().at("in the container at symbol ", blob_symbol);
}

}  // namespace

Result<ContainerReader> ContainerReader::open(const ContainerLocation& location,
                                              const PayloadLayouts& layouts) {
  ContainerReader reader;
  reader.container_.blob_symbol = location.blob_symbol;
  reader.container_.context_symbol = location.context_symbol;
  reader.container_.prefix = location.symbols.prefix;
  if (!location.room) {
    reader.container_.facts = facts_of(location.symbols, ContainerLayout::none);
    return reader;
  }
  GANTRY_CHECK(in_container(reader.open_entries(location, layouts), location.blob_symbol));
  return reader;
}

Status ContainerReader::open_entries(const ContainerLocation& location,
                                     const PayloadLayouts& layouts) {
  container_.warnings = location.symbols.warnings;
  container_.file_offset = location.file_offset;
  GANTRY_TRY(container_.bytes, delimit(location, container_.warnings));

  const std::uint64_t header = location.symbols.size ? 0 : header_bytes;
  const auto content = container_.bytes.subspan(header);
  container_.layout = layout_by(location.symbols.family, content);
  if (container_.layout == ContainerLayout::none) {
    return malformed(header, "container begins with ", beginning_of(content),
                     ", expected an entry count and a type key, or row pointers from 0")
        .with_reason("BLOB_LAYOUT");
  }
  container_.facts = facts_of(location.symbols, container_.layout);
  entries_.emplace(ByteReader(content, header), container_.layout, layouts,
                   container_.facts.argument_tags);
  return {};
}

Result<bool> ContainerReader::next() {
  if (!entries_) return false;
  return in_container(entries_->next(), container_.blob_symbol);
}

Status ContainerReader::accept(std::uint64_t size) {
  return in_container(entries_->accept(size), container_.blob_symbol);
}

Status ContainerReader::finish_entries() {
  GANTRY_TRY(Modules modules, std::move(*entries_).finish());
  append(container_.warnings, std::move(modules.warnings));
  container_.entries = std::move(modules.entries);
  container_.facts.add_tree(modules.library_count, modules.tree ? &*modules.tree : nullptr);
  if (modules.library_count > 1) {
    if (container_.facts.generation == Generation::g4) {
      return malformed(0, "container has ", modules.library_count, " _lib entries, G4 has one")
          .with_reason("BLOB_LIBRARY");
    }
    container_.warnings.push_back(
        Message("container has ", modules.library_count, " _lib entries"));
  }
  if (!modules.tree) {
    // Without a tree, the library itself is the root and imports every entry.
    container_.tree = ImportTree::star(container_.entries.size());
    container_.entries.insert(container_.entries.begin(), library_entry);
    return {};
  }
  container_.tree = std::move(*modules.tree);
  if (modules.library_count == 0) {
    container_.warnings.push_back("container has no _lib entry, so it has no CPU code");
  }
  const EntryOrder order = generation_facts(container_.facts.generation).order;
  append(container_.warnings,
         container_.tree.warnings(order == EntryOrder::separate ? ChildOrder::of_import
                                                                : ChildOrder::ascending));
  return {};
}

Result<Container> ContainerReader::finish() && {
  if (entries_) {
    GANTRY_CHECK(in_container(finish_entries(), container_.blob_symbol));
  } else {
    container_.entries.push_back(library_entry);
  }
  return std::move(container_);
}

Result<Container> read_container(const ContainerLocation& location, const PayloadLayouts& layouts) {
  GANTRY_TRY(ContainerReader reader, ContainerReader::open(location, layouts));
  return std::move(reader).finish();
}

ContainerLocation bare_location(std::span<const std::uint8_t> bytes) {
  ContainerLocation location;
  location.room = bytes;
  return location;
}

Result<Container> read_container_bytes(std::span<const std::uint8_t> bytes,
                                       const PayloadLayouts& layouts) {
  GANTRY_TRY(Container container, read_container(bare_location(bytes), layouts));
  if (container.bytes.size() != bytes.size()) {
    container.warnings.push_back(
        Message(ByteCount(bytes.size() - container.bytes.size()), " follow the container"));
  }
  return container;
}

bool looks_like_container(std::span<const std::uint8_t> bytes) {
  ByteReader in(bytes);
  const auto content = in.read_u64("container header");
  return content.ok() && *content >= 8 && *content <= in.left() &&
         layout_of(in.peek(*content)) != ContainerLayout::none;
}

}  // namespace gantry
