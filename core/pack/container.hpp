// SPDX-License-Identifier: Apache-2.0
//
// Writes a container of layout 1 (generations G2 to G4): what core/format/layout1.hpp reads.
//
//     u64 bytes that follow | u64 entries + 1 | per entry: "_lib", or str type key, payload
//                           | "_import_tree" | vec<u64> row_ptr | vec<u64> child
#pragma once

#include "core/pack/index.hpp"
#include "core/pack/pieces.hpp"

namespace gantry {

// A module to be written.
struct ContainerModule {
  // empty: host code, which is in the library and becomes `_lib`
  std::string type_key;
  // places in the list of modules
  std::vector<std::size_t> imports;
  // Appends the payload; offset() counts from the container's first byte, so that a payload can align what is
  // in it.  Not called for host code.
  std::function<Status(Pieces&)> write_payload;
};

// modules  [in]   module 0 is the root
// returns  the container from its length on; invalid for a type key that is reserved, longer than 256 or not
//          printable ASCII, and whatever index_modules() and the payloads refuse
// note     a root that is host code and imports nothing needs no container: there is none in the file then, and
//          this returns the empty one, u64 8, u64 0
// source   apache/tvm src/target/codegen.cc PackImportsToC, SerializeModule (v0.8 to v0.13)
Result<Pieces> write_container(std::span<const ContainerModule> modules);

}  // namespace gantry
