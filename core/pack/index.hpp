// SPDX-License-Identifier: Apache-2.0
//
// From modules and their imports to the order and the import tree of a container, as the exporters of
// generations G3 to G5 number them: all host code becomes one entry, `_lib`.
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
  // places in the list, in import order; may repeat
  std::vector<std::size_t> imports;
};

// The order in which a container lists its modules, and who imports whom, by that order.
struct ModuleIndex {
  // modules behind each entry; several only for `_lib`
  std::vector<std::vector<std::size_t>> entries;
  // the entry of the host code, where there is any
  std::optional<std::size_t> library;
  // entries.size() + 1
  std::vector<std::uint64_t> row_ptr;
  // sorted and unique for each entry, never itself
  std::vector<std::uint64_t> child;
};

// modules  [in]   at least the root; every import < modules.size()
// returns  invalid where an import is out of range, and where a child would not come after its parent: readers
//          demand that order, and this numbering cannot give it for every graph, not even for every acyclic one
// costs    O(modules + imports * log imports)
// source   apache/tvm src/target/codegen.cc ModuleSerializer (v0.8 to v0.26)
Result<ModuleIndex> index_modules(std::span<const IndexNode> modules);

}  // namespace gantry
