// SPDX-License-Identifier: Apache-2.0
//
// The names of functions in compiled CPU code, and their symbols.
//
//     dialect       function   symbol
//     packed        add        add
//     ffi, v0.21    add        add
//     ffi           add        __tvm_ffi_add
#pragma once

#include "core/formats/exporter_facts.hpp"

#include <optional>
#include <string_view>

namespace gantry {

// What precedes the name of a function in that of a function which describes it.
//
// source   apache/tvm-ffi
inline constexpr std::string_view metadata_prefix = "_metadata_";
inline constexpr std::string_view doc_prefix = "_doc_";

// Precedes the name in the symbol of a function.
std::string_view function_symbol_prefix(const ExporterFacts& facts);

// True for helpers that LLVM and the linker add to every file.
bool is_compiler_helper(std::string_view symbol);

// Returns the name under which a function can be called; empty for symbols that are reserved for
// compilers, and for functions that describe another function.
std::string_view function_of_symbol(std::string_view symbol, const ExporterFacts& facts);

// The symbol of a function that describes another one.
struct DeclarationSymbol {
  std::string_view function;
  // false: metadata
  bool is_doc = false;
};

// returns  nullopt: it is no such symbol
std::optional<DeclarationSymbol> declaration_of_symbol(std::string_view symbol,
                                                       const ExporterFacts& facts);

}  // namespace gantry
