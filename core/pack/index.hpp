// SPDX-License-Identifier: Apache-2.0
//
// Numbers modules and their imports as entries and import tree of a container, like the exporters
// of generations G3 to G5: all host code becomes one entry, `_lib`.
//
//     modules                     entries           row_ptr    child
//     0 graph   -> 1, 2           0 graph           0          1
//     1 host a  -> 3              1 _lib (1 and 2)  1          2
//     2 host b  -> 3, 1           2 cuda (3)        2
//     3 cuda                                        2
#pragma once

#include <gantry/result.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace gantry {

// One node of the module graph; module 0 of a list is the root.
struct IndexNode {
  // compiled into the shared library itself
  bool host_code = false;
  // indices in the list, in import order; may repeat
  std::vector<std::size_t> imports;
};

// The order of a container's entries and the import tree in that order.
struct ModuleIndex {
  // the modules of each entry; only `_lib` may have several
  std::vector<std::vector<std::size_t>> entries;
  // the entry of the host code, if there is any
  std::optional<std::size_t> library;
  // entries.size() + 1
  std::vector<std::uint64_t> row_ptr;
  // sorted and unique for each entry, never the entry itself
  std::vector<std::uint64_t> child;
};

// modules  [in]   at least the root; every import < modules.size()
// returns  invalid if an import is out of range, or if a child would precede its parent: readers
//          require that order, which this numbering does not achieve for every acyclic graph
// costs    O(modules + imports * log imports)
// source   apache/tvm src/target/codegen.cc ModuleSerializer (v0.8 to v0.26)
Result<ModuleIndex> index_modules(std::span<const IndexNode> modules);

}  // namespace gantry
