// SPDX-License-Identifier: Apache-2.0
//
// What a library that was compiled with tvm-ffi's C++ headers declares about its functions.
//
//     symbol                     the function returns
//     __tvm_ffi_add              a sum
//     __tvm_ffi__metadata_add    {"type_schema": "{\"type\": \"ffi.Function\", ...}"}
//     __tvm_ffi__doc_add         "Adds two numbers."
//
// The file states which functions have these. The texts are made by its code: only a loaded library
// has them.
#pragma once

#include "core/formats/elf/elf_file.hpp"
#include "core/formats/exporter_facts.hpp"

#include <gantry/result.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

// of a metadata text, and of a doc string
inline constexpr std::size_t max_declaration_bytes = std::size_t{64} << 10;
// of all texts of a library
inline constexpr std::size_t max_declarations_bytes = std::size_t{3} << 20;

// A function with metadata or a doc string.
struct DeclaredFunction {
  std::string_view name;
  bool has_metadata = false;
  bool has_doc = false;
};

// What the code of a library returned about a function. Texts are those of the file: escape them.
struct FunctionDeclaration {
  std::string name;
  // "add(int, int) -> int"; empty: none
  std::string signature;
  // empty: none
  std::string doc;
  // why the signature or the doc string is missing; empty: it is not, or the file has none
  std::string problem;
};

// functions  [in]   names that the file exports, sorted
// returns    sorted by name
// costs      O(symbols * log functions)
std::vector<DeclaredFunction> declared_functions(const ElfFile& elf, const ExporterFacts& facts,
                                                 const std::vector<std::string_view>& functions);

// Returns the signature in a metadata text, in the names of tvm-ffi's Python package: "scale(Tensor,
// float) -> None". The text states no names of parameters.
//
//     {"type": "ffi.Function", "args": [RESULT, PARAMETER...]}                             0.1.10
//     {"type": "ffi.Function", "named_args": {"return": [RESULT], "params": [PARAMETER...]}}  0.1.15
//
// returns  malformed: the text is not JSON, or does not describe a function
// source   apache/tvm-ffi TypeSchema
Result<std::string> signature_text(std::string_view function, std::string_view metadata);

}  // namespace gantry
