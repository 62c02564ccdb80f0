// SPDX-License-Identifier: Apache-2.0
//
// Facts about the exporter of a file, derived from its symbol names, container layout and import
// tree. Only the container's reader derives them; other components use this struct.
#pragma once

#include "core/formats/generation.hpp"

#include <gantry/blob_facts.hpp>

#include <cstdint>
#include <string_view>

namespace gantry {

class ImportTree;

struct ExporterFacts {
  // generation_facts() has what all its files have in common. The members below are what this file
  // proves, which may be less.
  Generation generation = Generation::none;
  Dialect dialect = Dialect::unknown;
  // ffi: the symbol that proves the dialect, a view into the file, and the releases that write such
  // files, "TVM 0.22 or newer". For messages.
  std::string_view dialect_symbol;
  std::string_view writer;
  ArgumentTags argument_tags = ArgumentTags::unknown;
  // of constants in Relax code
  Numbering numbering = Numbering::unknown;
  // dtype codes 6 to 8 are the float8 and float4 types of v0.14 to v0.20
  bool has_private_float_codes = false;

  // Distinguishes G1 and G2 from G3, which symbols and layout cannot.
  //
  // libraries    number of entries with key `_lib`
  // tree         NULL if the container has none
  void add_tree(std::uint64_t libraries, const ImportTree* tree);
};

}  // namespace gantry
