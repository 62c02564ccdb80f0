// SPDX-License-Identifier: Apache-2.0
//
// The code of a Relax executable, as far as its constants concern: where they are, and what refers
// to them.
//
//     u64  magic ; str version ; functions | memory scopes | constants | offsets | words
#pragma once

#include "core/format/vm_constants.hpp"

#include <optional>
#include <string_view>
#include <vector>

namespace gantry {

struct RelaxCode {
  struct MemoryScope {
    std::uint64_t constant = 0;
    std::string_view scope;
  };

  BytesAt whole;
  // Of v0.23 and later. Only these have memory scopes.
  bool has_scopes = false;
  std::uint64_t functions_end = 0;
  std::vector<MemoryScope> scopes;
  VmConstants constants;
  // offset of the number of words
  std::uint64_t words_at = 0;
  std::vector<std::int64_t> words;
  // indices of the words that refer to constants
  std::vector<std::uint64_t> constant_words;
  // The first function that is compiled into the library: its host code refers to constants by
  // index. Then all constants are used.
  std::optional<std::string_view> compiled_function;
};

// Returns the index of the constant that a word refers to.
constexpr std::uint64_t relax_constant_of(std::int64_t word) {
  return static_cast<std::uint64_t>(word) & ((std::uint64_t{1} << 56) - 1);
}
std::int64_t relax_constant_word(std::uint64_t constant);

// Reads the code of a payload, which follows its length in layout one and has none in layout two.
//
// payload    the whole payload
// numbering  unknown: the one with which the code ends at its last field
// returns    malformed    at the first wrong field, which includes bytes after the last one
//            unsupported  another version of the code, or an element type
// costs      O(functions + constants + words); array data are not read
// source     apache/tvm src/runtime/relax_vm/executable.cc (v0.16 to v0.20),
//            src/runtime/vm/executable.cc
Result<RelaxCode> read_relax_payload(std::span<const std::uint8_t> payload,
                                     ExporterFacts::Numbering numbering);

// The same for code without its length.
Result<RelaxCode> read_relax_code(BytesAt code, ExporterFacts::Numbering numbering);

// Whether a payload is the code itself, without its length.
bool is_bare_code(std::span<const std::uint8_t> payload);

}  // namespace gantry
