// SPDX-License-Identifier: Apache-2.0
//
// Collects the steps of a plan. Primitives choose the layouts of what they read and write; the
// builder adds a reorder where a tensor has another one, and reorders constants at once.
#pragma once

#include "plan.hpp"

#include <gantry/subgraph_module.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace gantry::dnnl_plugin {

// One argument of a primitive.
struct Use {
  // DNNL_ARG_*
  int role;
  View view;
};

// Returns a tensor without blocks for loops.
//
// type     [in]   of the elements, where oneDNN has no name for it
Elements elements_of(const Desc& desc, ElementType type);
inline Elements elements_of(const Desc& desc) {
  return elements_of(desc, element_type_of(type_of(desc)));
}

// Returns a layout without blocks, row-major.
Desc plain_desc(const Dims& dims, DataType type);
// Returns a layout that a primitive may choose.
Desc any_desc(const Dims& dims, DataType type);
// The same for the shape and type of a tensor; empty if it is.
Desc any_of(const View& view);

// returns  UNSUPPORTED  a type that no operator of the table has (SUBGRAPH_OPERATOR)
Result<ElementType> read_element_type(gantry_dtype dtype);

// Returns the product of the extents of a sub-graph's tensor, which fits: the reader of sub-graphs
// limits the size of each tensor.
std::int64_t element_count(const Dims& dims);

class Builder {
 public:
  // constants [in]  tensors in the order of the graph's constants
  Builder(const ::dnnl::engine& engine, const Subgraph& graph, std::span<const Value> constants);

  // Creates buffers for arguments and constants.
  Status begin();
  // Adds what outputs require after the last operator. Ends the use of the builder.
  Result<Plan> finish();

  const ::dnnl::engine& engine() const { return plan_.engine; }

  // Names the steps that follow.
  //
  // at       [in]   offset of the operator, for errors
  void set_operator(std::string_view name, std::uint64_t at) {
    operator_ = name;
    operator_at_ = at;
  }
  // True if the operator of an entry has computed it, or the entry is an argument or a constant.
  bool has_entry(std::uint32_t entry) const {
    return entries_[entry].own.exists() || entries_[entry].wide.exists();
  }
  // Returns the tensor of an entry, in its own type, or widened: narrow floating-point types as
  // float32. Converts it if it has only the other. Dimensions are in the order of its shape.
  //
  // returns  UNSUPPORTED  oneDNN has no such type (SUBGRAPH_OPERATOR)
  Result<View> entry(std::uint32_t entry, bool is_wide);
  // Sets the tensor of an entry, in its own type or widened.
  //
  // returns  MALFORMED  its type and shape are not those of the graph
  Status set_entry(std::uint32_t entry, View view, const SubgraphNode& node);

  // Sets the tensor of an entry without elements.
  Status set_empty(std::uint32_t entry, const SubgraphNode& node);

  // A state to which the builder can return after an operator has failed.
  struct Mark {
    std::size_t buffers, views, steps, weights, kept, conversions;
  };
  Mark mark() const;
  // Removes what was added since, and the outputs of an operator.
  //
  // costs    O(what is removed)
  void rewind(const Mark& mark, const SubgraphNode& node);

  View temporary(const Desc& desc);
  // Its elements are 0 where no step writes.
  View zeroed(const Desc& desc);

  // Returns the tensor in a layout: itself, or a copy.
  Result<View> in_layout(const View& view, const Desc& desc);
  // Returns the tensor in the row-major layout of its dimensions.
  Result<View> plain(const View& view);
  // Returns the elements of a row-major tensor under other dimensions. Makes a copy if the layout
  // requires it.
  //
  // returns  MALFORMED  the dimensions have another number of elements (SUBGRAPH)
  Result<View> reshaped(const View& view, const Dims& dims);
  // Adds a step that copies.
  Status copy(const View& from, const View& to);
  // Adds a step.
  void emit(::dnnl::primitive primitive, std::span<const Use> uses);
  // Adds a step without a primitive.
  //
  // views    [in]   arguments of the loop
  void emit(Loop loop, std::span<const View> views);
  // Returns the elements in another type; row-major. A constant is converted at once.
  //
  // from, to [in]   types of the elements, where oneDNN has no name for them
  Result<View> converted(const View& view, ElementType from, ElementType to);

  // Adds an extent to those of resized images, and returns their sum.
  std::int64_t add_resized(std::int64_t extent) { return resized_ += extent; }

  // Returns the elements of a constant; nullopt if the tensor is none, or not float32.
  std::optional<std::vector<float>> constant_floats(const View& view);
  bool is_constant(const View& view) const {
    return plan_.buffers[view.buffer].kind == BufferKind::constant;
  }

 private:
  std::uint32_t add_buffer(BufferKind kind, std::size_t bytes);
  std::uint32_t view_index(const View& view);
  void add_step(Step step, std::span<const Use> uses);
  // Returns memory for a constant that is computed now.
  Result<View> new_constant(const Desc& desc);
  Result<View> reordered_constant(const View& view, const Desc& desc);
  std::byte* address_of(const View& view) const;
  Status set_output(std::uint32_t argument, std::uint32_t entry);
  ElementType type_of_entry(std::uint32_t entry) const;

  const Subgraph& graph_;
  std::span<const Value> constants_;
  Plan plan_;
  std::int64_t resized_ = 0;
  // The tensor of an entry: in its own type, widened to float32, or both; empty until its operator is
  // lowered.
  struct Entry {
    View own;
    View wide;
  };
  std::vector<Entry> entries_;
  // Entries that were converted, to which of both.
  std::vector<std::pair<std::uint32_t, View Entry::*>> conversions_;
  // Indexed by buffer: the views of it.
  std::vector<std::vector<std::uint32_t>> views_of_;
  // Indexed by buffer: the constant of the artifact that it is.
  std::vector<std::optional<std::uint32_t>> kept_of_;
  std::string_view operator_;
  std::uint64_t operator_at_ = 0;
};

}  // namespace gantry::dnnl_plugin
