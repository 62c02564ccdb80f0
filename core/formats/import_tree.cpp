// SPDX-License-Identifier: Apache-2.0
//
// Reads and validates the import tree.
//
//   offset 0         u64  R          row pointers, = modules + 1
//          8         u64  row[R]     row[0] = 0, not decreasing, row[R-1] = C
//          8+8R      u64  C          edges
//          16+8R     u64  child[C]   module index, each < R-1
//
// Little-endian, unaligned. Module 0 is the root; the children of module m are child[row[m] ..
// row[m+1]). A module may have several parents, and children need not be in order. A loop is an
// error, since function look-up descends into the children.
#include "core/formats/import_tree.hpp"

#include <algorithm>
#include <numeric>
#include <optional>

namespace gantry {
namespace {

using Numbers = std::span<const std::uint64_t>;

// Returns the modules in an order with every parent before its children. Modules on a loop and
// below one are omitted.
//
// costs    O(modules + edges)
std::vector<std::uint64_t> parents_first(Numbers row, Numbers child) {
  const std::size_t module_count = row.size() - 1;
  std::vector<std::uint64_t> parents_left(module_count, 0);
  for (const std::uint64_t to : child) ++parents_left[to];

  std::vector<std::uint64_t> order;
  order.reserve(module_count);
  for (std::uint64_t module = 0; module < module_count; ++module) {
    if (parents_left[module] == 0) order.push_back(module);
  }
  for (std::size_t next = 0; next < order.size(); ++next) {
    for (const std::uint64_t to :
         child.subspan(row[order[next]], row[order[next] + 1] - row[order[next]])) {
      if (--parents_left[to] == 0) order.push_back(to);
    }
  }
  return order;
}

// Returns the module with the lowest index that is on a loop or below one.
std::optional<std::uint64_t> find_cycle(Numbers row, Numbers child) {
  const std::vector<std::uint64_t> order = parents_first(row, child);
  if (order.size() == row.size() - 1) return std::nullopt;
  std::vector<bool> free_of_loops(row.size() - 1, false);
  for (const std::uint64_t module : order) free_of_loops[module] = true;
  return static_cast<std::uint64_t>(std::find(free_of_loops.begin(), free_of_loops.end(), false) -
                                    free_of_loops.begin());
}

// "module 3", "module 3 and 1 more": a warning has a limited length for any number of modules.
std::string some_of(std::uint64_t first, std::uint64_t count) {
  if (count == 1) return concat("module ", first);
  return concat("module ", first, " and ", count - 1, " more");
}

}  // namespace

// in       at the first byte of R; moves to the end of child[C-1]; unspecified after a failure
// returns  malformed at the first invalid word
// costs    time and memory O(modules + edges), both limited by the bytes left in `in`
// source   apache/tvm src/target/codegen.cc (writer), src/runtime/library_module.cc (reader)
Result<ImportTree> ImportTree::parse(ByteReader& in) {
  const std::uint64_t tree_at = in.offset();
  GANTRY_TRY(U64Array row, in.read_u64_array("import tree row pointers"));
  GANTRY_TRY(U64Array child, in.read_u64_array("import tree edges"));

  if (row.value.size() < 2) {
    return malformed(tree_at, "import tree has ", row.value.size(), " row pointers, minimum is 2")
        .with_reason("TREE_ROWS");
  }
  if (row.value.front() != 0) {
    return malformed(row.at, "row pointer 0 is ", row.value.front(), ", expected 0")
        .with_reason("TREE_ROWS");
  }
  for (std::size_t i = 1; i < row.value.size(); ++i) {
    if (row.value[i] < row.value[i - 1]) {
      return malformed(row.offset_of(i), "row pointer ", i, " decreases from ", row.value[i - 1],
                       " to ", row.value[i])
          .with_reason("TREE_ROWS");
    }
  }
  if (row.value.back() != child.value.size()) {
    return malformed(row.offset_of(row.value.size() - 1), "last row pointer is ", row.value.back(),
                     ", edge count is ", child.value.size())
        .with_reason("TREE_ROWS");
  }

  const std::size_t module_count = row.value.size() - 1;
  for (std::size_t e = 0; e < child.value.size(); ++e) {
    if (child.value[e] >= module_count) {
      return malformed(child.offset_of(e), "edge ", e, " names module ", child.value[e],
                       ", module count is ", module_count)
          .with_reason("TREE_EDGE");
    }
  }
  if (const auto module = find_cycle(row.value, child.value)) {
    return malformed(tree_at, "import tree has a loop at or above module ", *module)
        .with_reason("TREE_LOOP");
  }
  return ImportTree(std::move(row.value), std::move(child.value));
}

ImportTree ImportTree::star(std::uint64_t count) {
  std::vector<std::uint64_t> row(count + 2, count);
  row[0] = 0;
  std::vector<std::uint64_t> child(count);
  std::iota(child.begin(), child.end(), std::uint64_t{1});
  return ImportTree(std::move(row), std::move(child));
}

std::vector<std::uint64_t> ImportTree::reachable_from(std::uint64_t root) const {
  struct Step {
    std::uint64_t module;
    // index of the next child to visit
    std::uint64_t next;
  };
  std::vector<bool> seen(module_count(), false);
  std::vector<std::uint64_t> order{root};
  std::vector<Step> stack{{root, 0}};
  seen[root] = true;
  while (!stack.empty()) {
    Step& top = stack.back();
    const auto children = children_of(top.module);
    if (top.next == children.size()) {
      stack.pop_back();
      continue;
    }
    const std::uint64_t child = children[top.next++];
    if (seen[child]) continue;
    seen[child] = true;
    order.push_back(child);
    stack.push_back({child, 0});
  }
  return order;
}

std::vector<std::uint64_t> ImportTree::children_first() const {
  std::vector<std::uint64_t> order = parents_first(row_, child_);
  std::reverse(order.begin(), order.end());
  return order;
}

bool ImportTree::has_child_before_parent() const {
  for (std::uint64_t module = 0; module < module_count(); ++module) {
    for (const std::uint64_t child : children_of(module)) {
      if (child <= module) return true;
    }
  }
  return false;
}

std::vector<Message> ImportTree::warnings(ChildOrder order) const {
  // The first module with a property, and the number of modules with it.
  struct Modules {
    std::uint64_t first = 0, count = 0;
    void found(std::uint64_t module) {
      if (count++ == 0) first = module;
    }
  };
  Modules unsorted, repeated, before, unreachable;
  std::vector<std::uint64_t> last_parent(module_count(), UINT64_MAX);
  for (std::uint64_t module = 0; module < module_count(); ++module) {
    const auto children = children_of(module);
    if (!std::is_sorted(children.begin(), children.end())) unsorted.found(module);
    bool twice = false;
    for (const std::uint64_t child : children) {
      twice |= last_parent[child] == module;
      last_parent[child] = module;
    }
    if (twice) repeated.found(module);
    if (std::any_of(children.begin(), children.end(),
                    [&](auto child) { return child <= module; })) {
      before.found(module);
    }
  }
  std::vector<bool> reached(module_count(), false);
  for (const std::uint64_t module : reachable_from(0)) reached[module] = true;
  for (std::uint64_t module = 0; module < module_count(); ++module) {
    if (!reached[module]) unreachable.found(module);
  }

  std::vector<Message> warnings;
  const bool ascending = order == ChildOrder::ascending;
  if (ascending && unsorted.count != 0) {
    warnings.push_back(Message("children of ", some_of(unsorted.first, unsorted.count),
                               " are not in ascending order"));
  }
  if (ascending && repeated.count != 0) {
    warnings.push_back(Message(some_of(repeated.first, repeated.count), " imports a module twice"));
  }
  if (before.count != 0) {
    warnings.push_back(
        Message(some_of(before.first, before.count), " imports a module of lower index"));
  }
  if (unreachable.count != 0) {
    warnings.push_back(
        Message(some_of(unreachable.first, unreachable.count), " cannot be reached from module 0"));
  }
  return warnings;
}

}  // namespace gantry
