// SPDX-License-Identifier: Apache-2.0
//
// gantry/stacked_attention.hpp - attention over one tensor that has queries, keys and values, as exporters leave it
// to cuDNN: softmax(scale Q K^T) V for each head.
//
//     GANTRY_TRY(auto stacked, StackedAttention::read(node, is_heads_outside));
//     GANTRY_CHECK(stacked.set_shape(node, shape));
//     const StackedAttention::Part queries = stacked.part(0);     // where its elements are
//
// source   apache/tvm python/tvm/relax/backend/cuda/cudnn.py, src/runtime/contrib/cudnn/cudnn_frontend/attention.cc
#pragma once

#include <gantry/dtype_text.hpp>
#include <gantry/quoted.hpp>
#include <gantry/result.hpp>
#include <gantry/subgraph_attributes.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <string_view>

namespace gantry {

// The extents of cuDNN's layouts. BS3NH: {batches, positions, all heads of Q, of K, of V};
// SBN3H: {positions, batches, heads, Q, K, V of the head}.
struct StackedAttention {
  std::int64_t batches = 0, positions = 0;
  // of queries; of keys and values, each of which serves as many heads of queries as any other
  std::int64_t heads = 0, kv_heads = 0;
  // of a head of queries and keys; of values
  std::int64_t size = 0, value_size = 0;
  // SBN3H
  bool has_heads_outside = false;
  // of the products of queries and keys
  float scale = 1;

  // A part of the tensor as {batches, heads of keys, heads of queries for each, positions, elements}.
  struct Part {
    std::array<std::int64_t, 5> dims;
    // in elements
    std::array<std::int64_t, 5> strides;
    // number of the first element
    std::int64_t first;
  };
  // part     [in]   0: Q, 1: K, 2: V
  Part part(int part) const {
    const std::int64_t group = part == 0 ? heads / kv_heads : 1;
    const std::int64_t length = part == 2 ? value_size : size;
    const std::array<std::int64_t, 5> dims = {batches, kv_heads, group, positions, length};
    if (has_heads_outside) {
      const std::int64_t head = 2 * size + value_size, row = heads * head;
      return {dims, {row, head, head, batches * row, 1}, part * size};
    }
    const std::int64_t keys = heads * size, values = keys + kv_heads * size;
    const std::int64_t row = values + kv_heads * value_size;
    const std::int64_t first = part == 0 ? 0 : part == 1 ? keys : values;
    return {dims, {positions * row, group * length, length, row, 1}, first};
  }

  // Reads the attributes of an operator.
  //
  // is_heads_outside  [in]   SBN3H instead of BS3NH
  // returns  MALFORMED  an attribute is absent or not in its range (SUBGRAPH)
  static Result<StackedAttention> read(const SubgraphNode& node, bool is_heads_outside) {
    const SubgraphAttributes attributes(node);
    StackedAttention read;
    read.has_heads_outside = is_heads_outside;
    const std::string_view names[] = {"num_heads", "num_kv_heads", "head_size", "head_size_v"};
    std::int64_t* const to[] = {&read.heads, &read.kv_heads, &read.size, &read.value_size};
    for (std::size_t i = 0; i < std::size(names); ++i) {
      GANTRY_TRY(*to[i], attributes.integer(names[i]));
      // Sums of products of two of them fit.
      constexpr std::int64_t max = 1 << 20;
      if (*to[i] < 1 || *to[i] > max)
        return attributes.refuse(names[i], " is ", *to[i], ", range is 1 to ", max);
    }
    if (read.heads % read.kv_heads != 0 || (is_heads_outside && read.heads != read.kv_heads)) {
      return attributes.refuse("num_kv_heads", " is ", read.kv_heads, ", num_heads is ",
                               read.heads);
    }
    read.scale = 1 / std::sqrt(static_cast<float>(read.size));
    const auto* const given = node.find("scale");
    if (given != nullptr && (given->size() != 1 || !given->front().empty())) {
      GANTRY_TRY(read.scale, attributes.real("scale"));
    }
    return read;
  }

  // Sets the extents that the shape of the tensor has.
  //
  // returns  MALFORMED  the heads do not fill the shape (SUBGRAPH)
  Status set_shape(const SubgraphNode& node, std::span<const std::int64_t> shape) {
    const auto refuse = [&](const auto&... parts) {
      return malformed(node.at, "operator ", quoted(node.name), ": input 0 has shape ",
                       numbers_text(shape), parts...)
          .with_reason("SUBGRAPH");
    };
    const std::size_t rank = has_heads_outside ? 4 : 3;
    if (shape.size() != rank) return refuse(", expected ", rank, " dimensions");
    batches = shape[has_heads_outside ? 1 : 0];
    positions = shape[has_heads_outside ? 0 : 1];
    const bool fits = has_heads_outside ? shape[2] == heads && shape[3] == 2 * size + value_size
                                        : shape[2] == heads * size + kv_heads * (size + value_size);
    if (fits) return {};
    return refuse(", which ", heads, " heads of ", size, " elements with ", kv_heads,
                  " of keys and of values of ", value_size, " do not fill");
  }
};

}  // namespace gantry
