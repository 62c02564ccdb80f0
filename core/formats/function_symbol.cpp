// SPDX-License-Identifier: Apache-2.0
#include "core/formats/function_symbol.hpp"

#include <algorithm>
#include <iterator>

namespace gantry {
namespace {

constexpr std::string_view helpers[] = {"_init",         "_fini",        "__extendhfsf2",
                                        "__truncsfhf2",  "__truncdfhf2", "__gnu_f2h_ieee",
                                        "__gnu_h2f_ieee"};

}  // namespace

bool is_compiler_helper(std::string_view symbol) {
  return std::ranges::find(helpers, symbol) != std::end(helpers);
}

std::string_view function_symbol_prefix(const ExporterFacts& facts) {
  return has_function_prefix(facts.dialect) ? "__tvm_ffi_" : "";
}

std::string_view function_of_symbol(std::string_view symbol, const ExporterFacts& facts) {
  const std::string_view prefix = function_symbol_prefix(facts);
  if (!prefix.empty()) {
    if (!symbol.starts_with(prefix)) return {};
    const std::string_view name = symbol.substr(prefix.size());
    return declaration_of_symbol(symbol, facts) ? std::string_view() : name;
  }
  if (symbol.starts_with("__") || symbol.starts_with('.')) return {};
  return is_compiler_helper(symbol) ? std::string_view() : symbol;
}

std::optional<DeclarationSymbol> declaration_of_symbol(std::string_view symbol,
                                                       const ExporterFacts& facts) {
  const std::string_view prefix = function_symbol_prefix(facts);
  if (prefix.empty() || !symbol.starts_with(prefix)) return std::nullopt;
  const std::string_view name = symbol.substr(prefix.size());
  for (const std::string_view begin : {metadata_prefix, doc_prefix}) {
    if (name.starts_with(begin))
      return DeclarationSymbol{name.substr(begin.size()), begin == doc_prefix};
  }
  return std::nullopt;
}

}  // namespace gantry
