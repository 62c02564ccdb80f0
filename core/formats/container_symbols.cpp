// SPDX-License-Identifier: Apache-2.0
#include "core/formats/container_symbols.hpp"

#include <gantry/concat.hpp>

#include <algorithm>
#include <iterator>

namespace gantry {
namespace {

using Family = ContainerSymbols::Family;

constexpr std::string_view headless_size_name = "__tvm_dev_mblob_nbytes";

// Names that prove the ffi dialect and the releases that write them, the strongest evidence first.
struct FfiName {
  std::string_view name;
  // true: symbols that begin with `name` match
  bool is_prefix;
  std::string_view writer;
};
constexpr std::string_view since_v0_22 = "TVM 0.22 or newer";
constexpr std::string_view only_v0_21 = "TVM 0.21";
constexpr std::string_view since_2025 = "TVM 0.21 or newer, or a development build of 2025";
constexpr FfiName ffi_names[] = {
    {"__tvm_ffi__library_bin", false, since_v0_22},
    {"__tvm_ffi__library_ctx", false, since_v0_22},
    {"__tvm_ffi_main", false, since_v0_22},
    {"__tvm_ffi_library_bin", false, only_v0_21},
    {"__tvm_ffi_library_ctx", false, only_v0_21},
    {"__tvm_ffi_", true, since_v0_22},
    {"TVMFFIBacktrace", false, since_v0_22},
    {"__TVMFFI", true, since_2025},
    {"TVMFFI", true, since_2025},
};

// True for the symbols of functions since v0.22, for those that are reserved since then, and for a
// name of the C API that libraries with tvm-ffi's C++ headers import since then.
bool is_since_v0_22(const CpuSymbol& symbol) {
  if (!symbol.defined) return symbol.name == "TVMFFIBacktrace";
  return symbol.name.starts_with("__tvm_ffi_") && symbol.name != "__tvm_ffi_library_bin" &&
         symbol.name != "__tvm_ffi_library_ctx";
}

bool is_packed_symbol(const CpuSymbol& symbol) {
  return symbol.name == "__TVMFuncCall" || symbol.name == "__tvm_module_ctx" ||
         symbol.name == "__tvm_main__" || symbol.name.starts_with("__TVMAPI") ||
         symbol.name.starts_with("__TVMBackend") ||
         (!symbol.defined && symbol.name.starts_with("TVM"));
}

// Same as name.ends_with(), but faster: for most names the comparison of two characters is enough.
bool ends_with(std::string_view name, std::string_view suffix) {
  return name.size() >= suffix.size() && name.back() == suffix.back() &&
         name[name.size() - suffix.size()] == suffix.front() && name.ends_with(suffix);
}

// CPU code of v0.21 to v0.25 uses both TVMBackend and FFI names, so FFI names have precedence.
void find_dialect(std::span<const CpuSymbol> symbols, ContainerSymbols& out) {
  using std::begin, std::end;
  const FfiName* best = end(ffi_names);
  bool is_packed = out.family == Family::legacy;
  bool is_prefixed = out.family == Family::ffi;
  for (const CpuSymbol& symbol : symbols) {
    // Fast path: most names begin with another character.
    if (!symbol.name.starts_with('_') && !symbol.name.starts_with('T')) continue;
    const FfiName* const found = std::find_if(begin(ffi_names), best, [&](const FfiName& each) {
      return each.is_prefix ? symbol.name.starts_with(each.name) : symbol.name == each.name;
    });
    if (found != best) {
      best = found;
      out.dialect_symbol = symbol.name;
    }
    is_packed = is_packed || is_packed_symbol(symbol);
    is_prefixed = is_prefixed || is_since_v0_22(symbol);
  }
  if (out.family == Family::ffi || out.family == Family::ffi_first) {
    out.dialect = is_prefixed ? Dialect::ffi : Dialect::ffi_0_21;
    out.dialect_symbol = symbols[*out.blob].name;
    out.writer = out.family == Family::ffi ? since_v0_22 : only_v0_21;
  } else if (best != end(ffi_names)) {
    out.dialect = is_prefixed ? Dialect::ffi : Dialect::ffi_0_21;
    out.writer = best->writer;
  } else if (is_packed) {
    out.dialect = Dialect::packed;
  }
}

Generation generation_of(const ContainerSymbols& symbols, ContainerLayout layout) {
  const bool is_first = symbols.family == Family::ffi_first;
  if (layout == ContainerLayout::two) return is_first ? Generation::g4x : Generation::g5;
  if (is_first) return Generation::g4;
  if (layout == ContainerLayout::none) return Generation::none;
  if (symbols.size) return Generation::g0;
  return is_ffi(symbols.dialect) ? Generation::g3x : Generation::g3;
}

}  // namespace

bool is_blob_symbol(std::string_view name) {
  return std::ranges::any_of(
      container_families, [&](const ContainerFamily& names) { return name.ends_with(names.blob); });
}

ContainerSymbols choose_symbols(std::span<const CpuSymbol> symbols, std::string_view wanted) {
  ContainerSymbols chosen;
  std::string_view context_name;
  for (const ContainerFamily& names : container_families) {
    for (std::size_t i = 0; i < symbols.size(); ++i) {
      const CpuSymbol& symbol = symbols[i];
      if (!symbol.defined || !ends_with(symbol.name, names.blob)) continue;
      const std::string_view prefix = symbol.name.substr(0, symbol.name.size() - names.blob.size());
      const bool is_wanted = wanted.empty() || prefix == wanted;
      if (!chosen.blob && is_wanted) {
        chosen.family = names.family;
        chosen.blob = i;
        chosen.prefix = prefix;
        context_name = names.context;
        continue;
      }
      // Of several system libraries in one file, the one with the least prefix is read, so that the
      // result does not depend on the order of the symbol table. The empty prefix is the least.
      std::size_t other = i;
      if (wanted.empty() && chosen.family == names.family && prefix < chosen.prefix) {
        other = *chosen.blob;
        chosen.blob = i;
        chosen.prefix = prefix;
      }
      chosen.warnings.push_back(
          Message("file contains another container at symbol ", symbols[other].name));
    }
  }
  if (!chosen.blob) {
    for (const ContainerFamily& names : container_families) {
      if (chosen.context) break;
      for (std::size_t i = 0; i < symbols.size(); ++i) {
        const std::string_view name = symbols[i].name;
        if (!symbols[i].defined || !ends_with(name, names.context)) continue;
        const std::string_view prefix = name.substr(0, name.size() - names.context.size());
        if (chosen.context && chosen.prefix <= prefix) continue;
        chosen.context = i;
        chosen.prefix = prefix;
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
  find_dialect(symbols, chosen);
  return chosen;
}

ExporterFacts facts_of(const ContainerSymbols& symbols, ContainerLayout layout) {
  ExporterFacts facts;
  facts.generation = generation_of(symbols, layout);
  facts.dialect = symbols.dialect;
  facts.dialect_symbol = symbols.dialect_symbol;
  facts.writer = symbols.writer;
  const GenerationFacts& all = generation_facts(facts.generation);
  if (layout == ContainerLayout::two && !is_ffi(facts.dialect)) facts.dialect = all.dialect;
  // A bare container of layout one may also be of G4.
  const bool is_named = symbols.family == Family::legacy || symbols.family == Family::ffi_first;
  if (layout == ContainerLayout::one && !is_named) return facts;
  facts.argument_tags = all.proven_tags;
  facts.has_private_float_codes = all.has_private_float_codes;
  const bool is_contradicted = all.numbering == Numbering::packed && is_ffi(facts.dialect);
  facts.numbering = is_contradicted ? Numbering::unknown : all.numbering;
  return facts;
}

}  // namespace gantry
