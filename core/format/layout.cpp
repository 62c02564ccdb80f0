// SPDX-License-Identifier: Apache-2.0
#include "core/format/layout.hpp"

#include "core/format/limits.hpp"

#include <gantry/byte_reader.hpp>

#include <algorithm>

namespace gantry {
namespace {

using Family = ContainerSymbols::Family;

struct FamilyNames {
  Family family;
  std::string_view blob;
  std::string_view context;
};

// Newest first: a file that holds two is judged by the newer.
constexpr FamilyNames families[] = {
    {Family::ffi, "__tvm_ffi__library_bin", "__tvm_ffi__library_ctx"},
    {Family::ffi_first, "__tvm_ffi_library_bin", "__tvm_ffi_library_ctx"},
    {Family::legacy, "__tvm_dev_mblob", "__tvm_module_ctx"},
};
constexpr std::string_view headless_size_name = "__tvm_dev_mblob_nbytes";

// Names that only one of the two dialects uses. Host code of v0.21 to v0.25 uses TVMBackend names
// beside FFI ones, so the FFI evidence counts first.
bool speaks_ffi(const HostSymbol& symbol) {
  // Most names of a file are those of its functions, and begin otherwise.
  if (!symbol.name.starts_with('_') && !symbol.name.starts_with('T')) return false;
  return symbol.name.starts_with("__TVMFFI") || symbol.name.starts_with("__tvm_ffi_") ||
         (!symbol.defined && symbol.name.starts_with("TVMFFI"));
}
bool speaks_packed(const HostSymbol& symbol) {
  return symbol.name == "__TVMFuncCall" || symbol.name == "__tvm_module_ctx" ||
         symbol.name == "__tvm_main__" || symbol.name.starts_with("__TVMAPI") ||
         symbol.name.starts_with("__TVMBackend") ||
         (!symbol.defined && symbol.name.starts_with("TVM"));
}

// As name.ends_with(), for names that mostly do not: they are seen by two characters, without a call.
bool ends_with(std::string_view name, std::string_view suffix) {
  return name.size() >= suffix.size() && name.back() == suffix.back() &&
         name[name.size() - suffix.size()] == suffix.front() && name.ends_with(suffix);
}

Dialect dialect_of(std::span<const HostSymbol> symbols, Family family) {
  if (family == Family::ffi || family == Family::ffi_first) return Dialect::ffi;
  if (std::any_of(symbols.begin(), symbols.end(), speaks_ffi)) return Dialect::ffi;
  if (family == Family::legacy) return Dialect::packed;
  if (std::any_of(symbols.begin(), symbols.end(), speaks_packed)) return Dialect::packed;
  return Dialect::unknown;
}

}  // namespace

std::string_view name_of(Generation generation) {
  constexpr std::string_view names[] = {"none", "G0", "G1",  "G2", "G3",
                                        "G3x",  "G4", "G4x", "G5", "unknown"};
  return names[static_cast<std::size_t>(generation)];
}

std::string_view name_of(Dialect dialect) {
  constexpr std::string_view names[] = {"packed", "ffi", "unknown"};
  return names[static_cast<std::size_t>(dialect)];
}

ContainerLayout layout_of(std::span<const std::uint8_t> content) {
  ByteReader in(content);
  const auto first = in.read_u64("first word");
  if (!first.ok()) return ContainerLayout::none;
  // no entries; what may follow is never read
  if (*first == 0) return ContainerLayout::one;
  const auto second = in.read_u64("second word");
  if (!second.ok()) return ContainerLayout::none;
  // Row pointer 0 is always 0, and a type key is never empty.
  if (*second == 0) return ContainerLayout::two;
  if (*second > limits::type_key_bytes || *second > in.left()) return ContainerLayout::none;
  const auto key = in.peek(*second);
  const bool printable =
      std::all_of(key.begin(), key.end(), [](std::uint8_t c) { return c >= 0x20 && c <= 0x7e; });
  return printable ? ContainerLayout::one : ContainerLayout::none;
}

ContainerSymbols choose_symbols(std::span<const HostSymbol> symbols) {
  ContainerSymbols chosen;
  std::string_view context_name;
  for (const FamilyNames& names : families) {
    for (std::size_t i = 0; i < symbols.size(); ++i) {
      const HostSymbol& symbol = symbols[i];
      if (!symbol.defined || !ends_with(symbol.name, names.blob)) continue;
      const std::string_view prefix = symbol.name.substr(0, symbol.name.size() - names.blob.size());
      if (!chosen.blob) {
        chosen.family = names.family;
        chosen.blob = i;
        chosen.prefix = prefix;
        context_name = names.context;
        continue;
      }
      // Several prefixed system libraries in one file: the first by its prefix stands for the file, wherever it lies in
      // the symbol table; none at all is before every other.
      std::size_t other = i;
      if (chosen.family == names.family && prefix < chosen.prefix) {
        other = *chosen.blob;
        chosen.blob = i;
        chosen.prefix = prefix;
      }
      chosen.warnings.push_back(
          concat("file holds a further container at symbol ", symbols[other].name));
    }
  }
  if (!chosen.blob) {
    for (const FamilyNames& names : families) {
      for (std::size_t i = 0; i < symbols.size() && !chosen.context; ++i) {
        if (symbols[i].defined && symbols[i].name == names.context) chosen.context = i;
      }
    }
  }
  for (std::size_t i = 0; i < symbols.size() && chosen.blob; ++i) {
    const std::string_view name = symbols[i].name;
    if (!symbols[i].defined || !name.starts_with(chosen.prefix)) continue;
    const std::string_view plain = name.substr(chosen.prefix.size());
    if (plain == context_name) chosen.context = i;
    if (chosen.family == Family::legacy && plain == headless_size_name) chosen.size = i;
  }
  chosen.dialect = dialect_of(symbols, chosen.family);
  return chosen;
}

Generation generation_of(const ContainerSymbols& symbols, ContainerLayout layout,
                         std::uint64_t libraries, const ImportTree* tree) {
  if (layout == ContainerLayout::none) return Generation::none;
  if (layout == ContainerLayout::two) {
    return symbols.family == Family::ffi_first ? Generation::g4x : Generation::g5;
  }
  if (symbols.family == Family::ffi_first) return Generation::g4;
  if (symbols.size) return Generation::g0;
  if (tree == nullptr) return Generation::g1;
  if (libraries > 1 || tree->has_child_before_parent()) return Generation::g2;
  return symbols.dialect == Dialect::ffi ? Generation::g3x : Generation::g3;
}

}  // namespace gantry
