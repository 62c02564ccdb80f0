// SPDX-License-Identifier: Apache-2.0
//
// The payload of a graph factory (core/formats/array_list.hpp).
//
// It has two type keys: GraphRuntimeFactory (v0.7) and GraphExecutorFactory (v0.8 to v0.19).
#pragma once

#include "core/formats/array_list.hpp"
#include "core/formats/graph_json.hpp"

#include <gantry/blob.hpp>
#include <gantry/sink.hpp>

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace gantry::graph {

// Its data are in the payload.
using Parameter = NamedArray;

struct Payload {
  // All parts of the payload.
  ArrayList list;
  // Of `list`, without fillers.
  std::vector<const Parameter*> parameters;
  // Empty until parse_graph().
  mutable Graph graph;
  // Of all views above.
  PayloadBytes kept;

  // Reads and checks the graph, once: the first executor does it, so that loading a file does not
  // read its graph.
  //
  // returns  MALFORMED   the graph; a parameter that differs from its input
  //          UNSUPPORTED see read_graph_json
  // thread   any; the first call reads it, others wait
  // costs    O(bytes of the graph), the first time
  Status parse_graph() const;

 private:
  mutable std::mutex mutex_;
  mutable bool is_parsed_ = false;
};

// Compares a parameter with the input of its name: dtype and number of bytes.
//
// returns  MALFORMED with both; OK if there is no such input
Status check_parameter(const Graph& graph, const Parameter& parameter);

// Reads a payload, but for its graph: see Payload::parse_graph().
//
// returns  MALFORMED at the first wrong field, with its offset
// costs    O(parameters); neither the graph nor parameter data are read
Result<std::shared_ptr<const Payload>> read_payload(Blob& blob);

// Writes a payload from its parts: the bytes that were read, unless the parameters are omitted. If
// the sink requests an alignment, the core writes these bytes again
// (core/formats/aligned_payload.hpp).
//
// returns    INVALID for an alignment that is not supported; the sink's error
// throws     ErrorThrown if the sink fails, as SinkStream does: call it inside abi_boundary()
Status write_payload(const Payload& payload, bool with_parameters, const Sink& sink);

// Returns a tensor on the CPU over the data of a parameter.
gantry_tensor view_of_parameter(const Parameter& parameter);

}  // namespace gantry::graph
