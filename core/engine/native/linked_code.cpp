// SPDX-License-Identifier: Apache-2.0
#include "core/engine/native/linked_code.hpp"

#include "core/formats/container_symbols.hpp"
#include "core/formats/function_symbol.hpp"

#include <gantry/concat.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

namespace gantry {
namespace {

// Each of several system libraries in one program has these symbols, after its prefix.
bool is_container_symbol(std::string_view name) {
  return std::ranges::any_of(container_families, [&](const ContainerFamily& each) {
    return name.ends_with(each.blob) || name.ends_with(each.context);
  });
}

bool is_of_another_prefix(std::string_view name, std::string_view prefix) {
  return is_container_symbol(name) &&
         std::ranges::none_of(container_families, [&](const ContainerFamily& each) {
           return name == concat(prefix, each.blob) || name == concat(prefix, each.context);
         });
}

}  // namespace

ContainerLocation linked_location(const std::vector<LinkedSymbol>& symbols,
                                  std::string_view prefix) {
  std::vector<CpuSymbol> names;
  std::vector<void*> addresses;
  Dialect dialect = Dialect::unknown;
  for (const LinkedSymbol& symbol : symbols) {
    if (is_of_another_prefix(symbol.name, prefix)) continue;
    names.push_back({symbol.name, 0, true});
    addresses.push_back(symbol.address);
    dialect = symbol.dialect;
  }
  ContainerLocation location;
  location.symbols = choose_symbols(names);
  const ContainerSymbols& chosen = location.symbols;
  // Symbols of functions prove no dialect.
  if (chosen.dialect == Dialect::unknown) location.symbols.dialect = dialect;
  location.symbols.prefix = prefix;
  if (chosen.context) location.context_symbol = names[*chosen.context].name;
  if (!chosen.blob) return location;
  location.blob_symbol = names[*chosen.blob].name;
  const auto* const container = static_cast<const std::uint8_t*>(addresses[*chosen.blob]);
  // No symbol has the size of the container, so that of its header counts.
  std::uint64_t content = 0;
  std::memcpy(&content, container, sizeof content);
  location.room = std::span(container, sizeof content + content);
  return location;
}

LinkedCode::LinkedCode(const std::vector<LinkedSymbol>& symbols, const ExporterFacts& facts,
                       std::string name)
    : CpuCode(facts), name_(std::move(name)) {
  for (const LinkedSymbol& symbol : symbols) symbols_[symbol.name] = symbol.address;
}

void* LinkedCode::function(std::string_view symbol) const {
  const auto found = symbols_.find(symbol);
  return found == symbols_.end() || is_container_symbol(symbol) ? nullptr : found->second;
}

void** LinkedCode::pointer_variable(std::string_view name) const {
  const auto found = symbols_.find(name);
  return found == symbols_.end() ? nullptr : static_cast<void**>(found->second);
}

std::vector<std::string> LinkedCode::function_names() const {
  std::vector<std::string> names;
  for (const auto& [symbol, address] : symbols_) {
    if (is_container_symbol(symbol)) continue;
    const std::string_view name = function_of_symbol(symbol, facts());
    if (!name.empty()) names.emplace_back(name);
  }
  return names;
}

Result<std::string_view> LinkedCode::entry_name() const {
  return symbols_.contains(main_symbol) ? main_symbol : std::string_view();
}

}  // namespace gantry
