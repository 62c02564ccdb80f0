// SPDX-License-Identifier: Apache-2.0
//
// The payload of a factory of ahead-of-time executors (AotExecutorFactory, v0.9 to v0.19).
//
//   u64  count ; vec<str> names ; count array records     parameters: names first, then the arrays
//   str  module_name                                      "default"
//
// Compilers put parameters into the code, and write none here.
#pragma once

#include <gantry/array_record.hpp>
#include <gantry/blob.hpp>
#include <gantry/sink.hpp>

#include <string_view>
#include <vector>

namespace gantry::aot {

// Its data are in the payload.
using Parameter = NamedArray;

struct Payload {
  // As in the file, without fillers.
  std::vector<Parameter> parameters;
  std::string_view module_name;
  // Of all views above.
  PayloadBytes kept;
};

// Reads a payload.
//
// returns  MALFORMED at the first wrong field, with its offset
// costs    O(parameters); their data are not read
// source   apache/tvm src/runtime/aot_executor/aot_executor_factory.cc
Result<Payload> read_payload(Blob& blob);

// Writes a payload: the bytes that were read, unless the sink requests an alignment
// (core/formats/aligned_payload.hpp) or the parameters are omitted.
//
// returns    INVALID for an alignment that is not supported; the sink's error
// throws     ErrorThrown if the sink fails, as SinkStream does: call it inside abi_boundary()
Status write_payload(const Payload& payload, bool with_parameters, const Sink& sink);

}  // namespace gantry::aot
