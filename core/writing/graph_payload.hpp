// SPDX-License-Identifier: Apache-2.0
//
// Writer of the payload of a GraphExecutorFactory: a graph, its parameters and the name of the
// function that creates the executor.
//
//     str graph_json | u64 n | vec<str> names | n array records | str module_name
//
// The data of each parameter begin at a multiple of 128 bytes from the container's first byte, and
// data of at least 64 KiB at a multiple of 4,096, so that a loader can use them without a copy
// (gantry/aligned_record.hpp).
#pragma once

#include "core/formats/model_signature.hpp"
#include "core/writing/pieces.hpp"

#include <gantry/tensor.h>

namespace gantry {

// One array. Its data may be in memory or described, see Pieces.
struct Parameter {
  std::string name;
  // one lane
  gantry_dtype dtype{};
  std::vector<std::int64_t> shape;
  // compact, row-major, little-endian
  std::variant<std::string, FileRange, MadeBytes, StreamedBytes> data;
  // in a recipe, for messages
  std::string location = {};
};

// Returns the size of `data` in bytes.
std::uint64_t data_bytes(const Parameter& parameter);

struct GraphPayload {
  std::string graph_json;
  std::vector<Parameter> parameters;
  std::string module_name = "default";
};

// Appends the payload to `out`, whose offset() counts from the container's first byte.
//
// returns  invalid if a name is used twice or begins with the prefix of fillers, a dtype has
//          several lanes, or the size of the data does not match dtype and shape
// source   apache/tvm src/runtime/graph_executor/graph_executor_factory.cc,
//          include/tvm/runtime/ndarray.h
Status write_graph_payload(const GraphPayload& payload, Pieces& out);

}  // namespace gantry
