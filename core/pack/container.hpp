// SPDX-License-Identifier: Apache-2.0
//
// Writer of containers of layout 1 (generations G2 to G4), which core/format/layout1.hpp reads.
//
//     u64 bytes that follow | u64 entries + 1 | per entry: "_lib", or str type key, payload
//                           | "_import_tree" | vec<u64> row_ptr | vec<u64> child
#pragma once

#include "core/pack/index.hpp"
#include "core/pack/pieces.hpp"

namespace gantry {

// A module of the container.
struct ContainerModule {
  // empty: host code, which is compiled into the library and becomes `_lib`
  std::string type_key;
  // indices in the list of modules
  std::vector<std::size_t> imports;
  // Appends the payload. offset() counts from the container's first byte, so that a payload can
  // align its parts. Not called for host code.
  std::function<Status(Pieces&)> write_payload;
};

// Returns the container, from the field of its length on. A root that is host code and imports
// nothing needs no container; this returns the empty one for it, u64 8, u64 0.
//
// modules  [in]   module 0 is the root
// returns  invalid for a type key that is reserved, longer than 256 bytes or not printable ASCII;
//          the failures of index_modules() and of the payloads
// source   apache/tvm src/target/codegen.cc PackImportsToC, SerializeModule (v0.8 to v0.13)
Result<Pieces> write_container(std::span<const ContainerModule> modules);

}  // namespace gantry
