// SPDX-License-Identifier: Apache-2.0
//
// The operators that exporters write into sub-graphs: their names, attributes, inputs and layouts.
// Facts of upstream, with their sources; OPERATORS.md lists them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace gantry::dnnl_plugin {

// How an operator becomes primitives.
enum class Operation : std::uint8_t {
  convolution,
  transposed_convolution,
  dense,
  batch_matmul,
  matmul,
  batch_norm,
  layer_norm,
  instance_norm,
  softmax,
  pooling,
  global_pooling,
  l2_pooling,
  elementwise,
  binary,
  bias_add,
  concatenate,
  reshape,
  transpose,
  layout_transform,
  pad,
  slice,
  split,
  reduce,
  attention,
  cast,
  resize,
};

// One row: operators of one exporter that have the same attributes and inputs. Lists are separated
// by blanks.
struct OperatorRow {
  // of the module: "dnnl_json"
  std::string_view key;
  // names of operators, without the prefix of composites: "dnnl."
  std::string_view names;
  // what a composite may append to the name, each at most once: "dnnl.conv2d_bias_relu"
  std::string_view fusions;
  Operation operation;
  // in order; those in brackets are there if the name has their word, or, where no name has it, may
  // be absent; "data..." is any number
  std::string_view inputs;
  // attributes that are read, and their supported values: "axis=1/3", and layouts: "layout=NCHW",
  // "NCHW*" (its dimensions in any order), "NCHW**" (also blocks of them at the end)
  std::string_view attributes;
  // what shapes and layouts mean
  std::string_view notes;
  // element types
  std::string_view types;
  // releases that write the operator
  std::string_view releases;
  // files of apache/tvm
  std::string_view source;
};

std::span<const OperatorRow> operator_rows();

// Attributes that exporters write and that no operator requires.
struct IgnoredAttributes {
  // names in rows; empty: all operators
  std::string_view operators;
  std::string_view names;
  std::string_view reason;
};
std::span<const IgnoredAttributes> ignored_attributes();

// An operator's row, and how its name differs from it.
struct OperatorMatch {
  const OperatorRow* row = nullptr;
  // name in the row
  std::string_view base;
  // in the order of the name; views into it
  std::vector<std::string_view> fusions;
};

// Finds the row of an operator.
//
// key      [in]   type key of the module
// name     [in]   as in the sub-graph; the result refers to it
// returns  nullopt if the exporter does not write this operator
std::optional<OperatorMatch> find_operator(std::string_view key, std::string_view name);

}  // namespace gantry::dnnl_plugin
