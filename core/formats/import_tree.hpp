// SPDX-License-Identifier: Apache-2.0
//
// The import tree of a container: which module imports which.
#pragma once

#include <gantry/byte_reader.hpp>
#include <gantry/result.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace gantry {

// How the exporter writes the children of one module.
enum class ChildOrder : std::uint8_t {
  // each once, by index: G3 and later
  ascending,
  // as they were imported, and as often: G2
  of_import,
};

// Children of module m are edges()[rows()[m] .. rows()[m+1]).
class ImportTree {
 public:
  // One module that imports nothing.
  ImportTree() : row_{0, 0} {}

  // Reads the tree at `in`. A valid tree has no loop and no index out of range.
  static Result<ImportTree> parse(ByteReader& in);

  // The tree of a container without one: module 0 imports modules 1 to `count`.
  static ImportTree star(std::uint64_t count);

  std::uint64_t module_count() const { return row_.size() - 1; }
  // Precondition: module < module_count().
  std::span<const std::uint64_t> children_of(std::uint64_t module) const {
    return std::span(child_).subspan(row_[module], row_[module + 1] - row_[module]);
  }
  std::span<const std::uint64_t> rows() const { return row_; }
  std::span<const std::uint64_t> edges() const { return child_; }

  // Returns the modules that are reachable from `root` in the order of function look-up: `root`,
  // then depth first, each once. Does not recurse.
  //
  // costs    O(modules + edges)
  std::vector<std::uint64_t> reachable_from(std::uint64_t root) const;
  // Returns all modules, children before parents.
  std::vector<std::uint64_t> children_first() const;

  // True if the index of a child is not greater than its parent's. Exporters since v0.8 never write
  // such a tree.
  bool has_child_before_parent() const;
  // Returns one sentence for each unusual but legal property: unreachable modules, a child before
  // its parent, and for ChildOrder::ascending, children that are repeated or not ascending.
  std::vector<Message> warnings(ChildOrder order = ChildOrder::ascending) const;

 private:
  ImportTree(std::vector<std::uint64_t> row, std::vector<std::uint64_t> child)
      : row_(std::move(row)), child_(std::move(child)) {}

  std::vector<std::uint64_t> row_;
  std::vector<std::uint64_t> child_;
};

}  // namespace gantry
