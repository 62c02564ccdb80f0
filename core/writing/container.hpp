// SPDX-License-Identifier: Apache-2.0
//
// Writer of containers, which core/formats/container.hpp reads.
//
//     layout one   u64 bytes that follow | u64 entries + 1 | per entry: "_lib", or str type key,
//                  payload | "_import_tree" | vec<u64> row_ptr | vec<u64> child
//     layout two   u64 bytes that follow | vec<u64> row_ptr | vec<u64> child
//                  | per entry: "_lib", or str type key, u64 bytes of the payload, payload
#pragma once

#include "core/formats/generation.hpp"
#include "core/writing/index.hpp"
#include "core/writing/pieces.hpp"

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace gantry {

// A module of the container.
struct ContainerModule {
  // empty: CPU code, which is compiled into the library and becomes `_lib`
  std::string type_key;
  // indices in the list of modules
  std::vector<std::size_t> imports;
  // Appends the payload. offset() counts from the container's first byte, so that a payload can
  // align its parts. Not called for CPU code.
  std::function<Status(Pieces&)> write_payload;
};

// Returns the container, from the field of its length on. Modules that the root does not import,
// directly or through others, are not written.
//
// In layout one, a root that is CPU code and imports nothing gives the empty container, u64 8,
// u64 0; exporters write no container at all for it. Any other root without imports has a tree, as
// in v0.8 to v0.13: v0.14 to v0.21 omit it, and their own loaders then do not find the root's entry.
// Layout two always has a tree.
//
// modules  [in]   module 0 is the root
// returns  invalid for a type key that is reserved, longer than 256 bytes or not printable ASCII;
//          the failures of index_merged() or index_separate(), and of the payloads
// source   apache/tvm src/target/codegen.cc PackImportsToC, SerializeModule (v0.7 to v0.26)
Result<Pieces> write_container(std::span<const ContainerModule> modules,
                               Generation form = Generation::g3);

// Returns a container with these modules as its entries, in this order, and with their imports as
// they are: the modules of a container that was read give its bytes again. Modules that nothing
// imports are written as well.
//
// returns  invalid for a type key, as above; an import that is out of range; a loop; with
//          Generation::g1, modules that require a tree; the failures of the payloads
Result<Pieces> write_listed_container(std::span<const ContainerModule> modules, Generation form);

}  // namespace gantry
