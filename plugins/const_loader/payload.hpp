// SPDX-License-Identifier: Apache-2.0
//
// The payload of a module of constants.
//
//   vec<str>                  names of constants
//   u64 count ; array records in the order of the names
//   vec<str>                  symbols: functions of the imports
//   u64 count ; vec<str> for each symbol: the constants that it uses, by name
//
// It has two type keys: metadata (v0.7 and v0.8) and const_loader (v0.9 and later).
#pragma once

#include <gantry/array_record.hpp>
#include <gantry/blob.hpp>
#include <gantry/result.hpp>
#include <gantry/sink.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

namespace gantry::const_loader {

// Its data are in the payload.
using Constant = NamedArray;

struct Symbol {
  std::string_view name;
  // Indices of constants, in the order in which the symbol takes them.
  std::vector<std::uint32_t> constants;
};

struct Payload {
  // As in the file, without fillers.
  std::vector<Constant> constants;
  std::vector<Symbol> symbols;
  // Of all views above.
  PayloadBytes kept;

  // Returns the index of a symbol, or the number of symbols if there is none of this name.
  //
  // costs    O(log symbols)
  std::size_t find(std::string_view symbol) const;

 private:
  friend Result<Payload> read_payload(Blob& blob);
  // Indices of symbols, sorted by name.
  std::vector<std::uint32_t> by_name_;
};

// Reads a payload.
//
// returns  MALFORMED  at the first wrong field, with its offset; counts that differ; a name that is
//                     given twice; a symbol whose constant does not exist
//          UNSUPPORTED an element type, see read_array_record()
// costs    O(names); the data of constants are not read
// source   apache/tvm src/runtime/const_loader_module.cc
Result<Payload> read_payload(Blob& blob);

// Writes a payload: the bytes that were read, unless the sink requests an alignment
// (core/formats/aligned_payload.hpp).
//
// returns    INVALID for an alignment that is not supported; the sink's error
// throws     ErrorThrown if the sink fails, as SinkStream does: call it inside abi_boundary()
Status write_payload(const Payload& payload, const Sink& sink);

}  // namespace gantry::const_loader
