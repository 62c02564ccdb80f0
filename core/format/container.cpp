// SPDX-License-Identifier: Apache-2.0
#include "core/format/container.hpp"

#include "core/format/layout1.hpp"
#include "core/format/layout2.hpp"

#include <gantry/byte_reader.hpp>
#include <gantry/quoted.hpp>

#include <algorithm>

namespace gantry {
namespace {

using Family = ContainerSymbols::Family;

constexpr std::uint64_t header_bytes = 8;

Container without_container() {
  Container container;
  container.entries.push_back({library_key, 0, {}, Boundary::exact});
  return container;
}

// The container's bytes: as many as its header or its size symbol says, never more than there are.
Result<std::span<const std::uint8_t>> delimit(const ContainerLocation& location,
                                              std::vector<std::string>& warnings) {
  ByteReader in(location.room);
  const bool headless = location.symbols.size.has_value();
  std::uint64_t content = location.headless_size;
  if (!headless) {
    GANTRY_TRY(content, in.read_u64("container header"));
  }
  const std::uint64_t header = headless ? 0 : header_bytes;
  if (content < 8) {
    return malformed(0, "container has ", content, " bytes of content, minimum is 8")
        .with_reason("BLOB_SIZE");
  }
  if (content > in.left()) {
    return malformed(0, "container has ", content, " bytes of content, its segment has room for ",
                     in.left())
        .with_reason("BLOB_SIZE");
  }
  if (location.symbol_size != 0 && location.symbol_size < header + content) {
    return malformed(0, "container takes ", header + content, " bytes, its symbol has ",
                     location.symbol_size)
        .with_reason("BLOB_SIZE");
  }
  if (location.symbol_size > header + content) {
    warnings.push_back(concat("container takes ", header + content, " bytes, its symbol has ",
                              location.symbol_size));
  }
  return location.room.first(header + content);
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

// What the rules say beyond the layouts: FORMAT.md, "What is judged how", rows 14 to 16.
Status judge(const Container& container, std::uint64_t libraries, bool has_tree,
             std::vector<std::string>& warnings) {
  if (libraries > 1 && container.facts.generation == Generation::g4) {
    return malformed(0, "container has ", libraries, " _lib entries, G4 has one")
        .with_reason("BLOB_LIBRARY");
  }
  if (libraries > 1) {
    warnings.push_back(concat("container has ", libraries, " _lib entries"));
  }
  if (libraries == 0 && has_tree) {
    warnings.push_back("container has no _lib entry: nothing in it is host code");
  }
  if (has_tree) {
    const std::vector<std::string> odd = container.tree.warnings(
        container.facts.generation == Generation::g2 ? ChildOrder::of_import
                                                     : ChildOrder::ascending);
    warnings.insert(warnings.end(), odd.begin(), odd.end());
  }
  return {};
}

// What layout_of() has looked at, for people: "2, 1000" or "2, 4, \"\x01...\"".
std::string beginning_of(std::span<const std::uint8_t> content) {
  ByteReader in(content);
  // delimit() has seen to it
  const std::uint64_t count = *in.read_u64("first word");
  if (const auto key = ByteReader(in.rest()).read_string("type key"); key.ok()) {
    return concat(count, ", ", key->size(), ", ", quoted(*key));
  }
  if (const auto second = in.read_u64("second word"); second.ok()) {
    return concat(count, ", ", *second);
  }
  return concat(count);
}

Result<Container> read(const ContainerLocation& location, const PayloadLayouts& layouts) {
  const ContainerSymbols& chosen = location.symbols;
  Container container;
  container.warnings = chosen.warnings;
  container.file_offset = location.file_offset;
  GANTRY_TRY(container.bytes, delimit(location, container.warnings));

  const std::uint64_t header = chosen.size ? 0 : header_bytes;
  const auto content = container.bytes.subspan(header);
  container.layout = layout_by(chosen.family, content);
  if (container.layout == ContainerLayout::none) {
    return malformed(header, "container begins with ", beginning_of(content),
                     ", expected an entry count and a type key, or row pointers from 0")
        .with_reason("BLOB_LAYOUT");
  }
  container.facts = facts_of(chosen, container.layout);

  const ByteReader in(content, header);
  GANTRY_TRY(Modules modules, container.layout == ContainerLayout::one
                                  ? read_layout1(in, layouts, container.facts.argument_tags)
                                  : read_layout2(in));
  container.warnings.insert(container.warnings.end(), modules.warnings.begin(),
                            modules.warnings.end());
  const auto libraries = static_cast<std::uint64_t>(
      std::count_if(modules.entries.begin(), modules.entries.end(),
                    [](const Entry& entry) { return entry.is_library(); }));
  const bool has_tree = modules.tree.has_value();
  container.facts.add_tree(libraries, has_tree ? &*modules.tree : nullptr);
  container.entries = std::move(modules.entries);
  if (has_tree) {
    container.tree = std::move(*modules.tree);
  } else {
    // The library itself is the root, and imports every entry.
    container.tree = ImportTree::star(container.entries.size());
    container.entries.insert(container.entries.begin(), {library_key, 0, {}, Boundary::exact});
  }
  GANTRY_CHECK(judge(container, libraries, has_tree, container.warnings));
  return container;
}

}  // namespace

Result<Container> read_container(const ContainerLocation& location, const PayloadLayouts& layouts) {
  Container container = without_container();
  if (location.symbols.blob) {
    auto found = read(location, layouts);
    if (!found.ok()) {
      return std::move(found).failure().at("in the container at symbol ", location.blob_symbol);
    }
    container = std::move(found).value();
    container.blob_symbol = location.blob_symbol;
    container.prefix = location.symbols.prefix;
  } else {
    container.facts = facts_of(location.symbols, ContainerLayout::none);
  }
  container.context_symbol = location.context_symbol;
  return container;
}

Result<Container> read_container_bytes(std::span<const std::uint8_t> bytes,
                                       const PayloadLayouts& layouts) {
  ContainerLocation location;
  location.room = bytes;
  GANTRY_TRY(Container container, read(location, layouts));
  if (container.bytes.size() != bytes.size()) {
    container.warnings.push_back(
        concat(bytes.size() - container.bytes.size(), " bytes follow the container"));
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
