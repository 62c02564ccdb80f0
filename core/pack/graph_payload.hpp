// SPDX-License-Identifier: Apache-2.0
//
// The payload of a GraphExecutorFactory: a graph, its parameters, and the name that it is created by.
//
//     str graph_json | u64 n | vec<str> names | n array records | str module_name
//
// Each parameter's data begin at a multiple of 128 from the container's first byte, so that a loader can use them
// where they lie: gantry/aligned_record.hpp.
#pragma once

#include "core/pack/pieces.hpp"

#include <gantry/tensor.h>

namespace gantry {

constexpr std::string_view graph_factory_key = "GraphExecutorFactory";

// One array, its data described and not held: see Pieces.
struct Parameter {
  std::string name;
  // of one lane
  gantry_dtype dtype{};
  std::vector<std::int64_t> shape;
  // compact, row-major, little-endian
  std::variant<std::string, FileRange, MadeBytes> data;
};

// Bytes that `data` describes.
std::uint64_t data_bytes(const Parameter& parameter);

struct GraphPayload {
  std::string graph_json;
  std::vector<Parameter> parameters;
  std::string module_name = "default";
};

// Appends the payload to `out`, whose offset() counts from the container's first byte.
//
// returns  invalid where a name is taken twice or begins as a filler's, a dtype has several lanes, or the data are
//          not as large as dtype and shape say
// source   apache/tvm src/runtime/graph_executor/graph_executor_factory.cc, include/tvm/runtime/ndarray.h
Status write_graph_payload(const GraphPayload& payload, Pieces& out);

}  // namespace gantry
