// SPDX-License-Identifier: Apache-2.0
//
// Numbers modules and their imports as entries and import tree of a container, like the exporters
// of generations G2 to G5. G3 and later make one entry, `_lib`, of all CPU code:
//
//     modules                     entries           row_ptr    child
//     0 graph   -> 1, 2           0 graph           0          1
//     1 host a  -> 3              1 _lib (1 and 2)  1          2
//     2 host b  -> 3, 1           2 cuda (3)        2
//     3 cuda                                        2
//
// G2 makes one entry of each module:
//
//     0 graph   -> 1, 2           0 graph           0          3 1
//     1 host a  -> 3              1 _lib (2)        2          2 3
//     2 host b  -> 3, 1           2 cuda (3)        4
//     3 cuda                      3 _lib (1)        4          2
//                                                   5
#pragma once

#include <gantry/result.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

// One node of the module graph; module 0 of a list is the root.
struct IndexNode {
  // empty: CPU code, which is compiled into the shared library itself
  std::string_view type_key;
  // indices in the list, in import order; may repeat
  std::vector<std::size_t> imports;

  bool cpu_code() const { return type_key.empty(); }
};

// Returns the name of a module in messages, as 2 "cuda"; CPU code has an empty key.
std::string name_of_module(std::size_t index, std::string_view type_key);

// The order of a container's entries and the import tree in that order. A module that the root does
// not import, directly or through others, has no entry.
struct ModuleIndex {
  // the modules of each entry; only merged CPU code may have several
  std::vector<std::vector<std::size_t>> entries;
  // entries.size() + 1
  std::vector<std::uint64_t> row_ptr;
  // of each entry; see the functions below
  std::vector<std::uint64_t> child;
};

// The index of G3 and later. The children of an entry are sorted and unique, never the entry
// itself.
//
// modules  [in]   at least the root; every import < modules.size()
// returns  invalid if an import is out of range, IMPORT_CYCLE if modules import each other, or
//          IMPORT_ORDER if a child would precede its parent: readers require that order, which this
//          numbering does not achieve for every acyclic graph
// costs    O(modules + imports * log imports)
// source   apache/tvm src/target/codegen.cc ModuleSerializer (v0.8 to v0.26)
Result<ModuleIndex> index_merged(std::span<const IndexNode> modules);

// The index of G2. The children of an entry are in import order and may repeat; a child may precede
// its parent.
//
// returns  as index_merged(), without IMPORT_ORDER
// costs    O(modules + imports)
// source   apache/tvm src/target/codegen.cc ModuleSerializer (v0.7)
Result<ModuleIndex> index_separate(std::span<const IndexNode> modules);

// The index of modules that are listed in the order of their entries: entry i is module i, and its
// children are its imports, in order.
//
// returns  invalid if an import is out of range; IMPORT_CYCLE
// costs    O(modules + imports)
Result<ModuleIndex> index_listed(std::span<const IndexNode> modules);

}  // namespace gantry
