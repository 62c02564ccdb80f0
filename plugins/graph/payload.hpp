// SPDX-License-Identifier: Apache-2.0
//
// The bytes of a graph factory, as they lie in the artifact.
//
//   str  graph_json
//   u64  count ; vec<str> names ; count array records     parameters: names first, then the arrays
//   str  module_name                                      "default"
//
// Written under two type keys, GraphRuntimeFactory (v0.7) and GraphExecutorFactory (v0.8 to v0.19).
#pragma once

#include "core/format/graph_json.hpp"

#include <gantry/aligned_record.hpp>
#include <gantry/blob.hpp>

#include <memory>
#include <mutex>
#include <optional>

namespace gantry::graph {

struct Parameter {
  std::string_view name;
  // its data lie in the payload
  ArrayRecord array;
};

struct Payload {
  std::string_view graph_json;
  // as in the file, without fillers
  std::vector<Parameter> parameters;
  std::string_view module_name;
  // empty until prove()
  mutable Graph graph;
  // Of all views above.
  PayloadBytes kept;

  // Reads and proves the graph, once. Left to the first executor, so that loading a file costs no more than the file.
  //
  // returns  MALFORMED   the graph; a parameter that is not what the graph says of its input
  //          UNSUPPORTED see read_graph_json
  // thread   any; the first does it, others wait
  // costs    O(bytes of the graph), the first time
  Status prove() const;

 private:
  mutable std::mutex mutex_;
  mutable bool proven_ = false;
};

// A parameter that is an input must be what the graph says of that input: dtype and number of bytes.
//
// returns  MALFORMED with both; OK for a parameter that is no input
Status check_parameter(const Graph& graph, const Parameter& parameter);

// Reads a payload. What its graph says is proven later: Payload::prove().
//
// returns  MALFORMED at the first wrong field, with its offset
// costs    O(parameters); neither the graph nor parameter data are touched
// source   apache/tvm src/runtime/graph_executor/graph_executor_factory.cc
Result<std::shared_ptr<const Payload>> read_payload(Blob& blob);

// Writes a payload: the same parameters in the same order, each one's data at a multiple of 128 bytes in the file by
// means of fillers. The same payload at the same position gives the same bytes.
//
// parameters [in]  those to write: the payload's own, or none
// sink       [in]  its position is what alignment is counted from
// throws     ErrorThrown where the sink fails, as SinkStream does: call it behind abi_boundary()
void write_payload(const Payload& payload, std::span<const Parameter> parameters,
                   const gantry_sink& sink);

// A tensor that describes a parameter where it lies, on the CPU.
gantry_tensor view_of_parameter(const Parameter& parameter);

// Bytes to which memory must be aligned that is used where it lies: parameters in the file, and what zero copy binds. v0.7
// to v0.9 compiled their code for 128, other releases for 64; v0.8 and later cannot be told apart by their payload, and
// code that gets less than it was compiled for crashes.
constexpr std::uint64_t in_place_alignment = 128;

}  // namespace gantry::graph
