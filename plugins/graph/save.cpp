// SPDX-License-Identifier: Apache-2.0
//
// The way back: a payload to bytes whose parameters lie where executors can use them in place.
//
//   names     "__gantry_fill_0" "p0" "__gantry_fill_1" "p1" ...
//   records   filler 0 (uint8[1 to 128]) | p0's header | p0's data at a multiple of 128 | filler 1 ...
//
// The names come before all records, so which parameters need a filler cannot depend on where they lie: all have one.
#include "payload.hpp"

#include <gantry/dmlc_stream.hpp>

namespace gantry::graph {
namespace {

constexpr std::uint64_t header_bytes(std::size_t ndim) { return 40 + 8 * std::uint64_t{ndim}; }

// As read_array_record() reads it.
void write_record(SinkStream& out, gantry_dtype dtype, std::span<const std::int64_t> shape,
                  std::span<const std::uint8_t> data) {
  out.Write<std::uint64_t>(array_record_magic);
  out.Write<std::uint64_t>(0);
  out.Write<std::int32_t>(1);  // the CPU
  out.Write<std::int32_t>(0);
  out.Write<std::int32_t>(static_cast<std::int32_t>(shape.size()));
  out.Write<std::uint8_t>(dtype.code);
  out.Write<std::uint8_t>(dtype.bits);
  out.Write<std::uint16_t>(dtype.lanes);
  for (const std::int64_t extent : shape) out.Write<std::int64_t>(extent);
  out.Write<std::uint64_t>(data.size());
  if (!data.empty()) out.Write(data.data(), data.size());
}

}  // namespace

void write_payload(const Payload& payload, std::span<const Parameter> parameters,
                   const gantry_sink& sink) {
  std::vector<std::string> names;
  for (const Parameter& parameter : parameters) {
    names.push_back(concat(filler_prefix, names.size() / 2));
    names.emplace_back(parameter.name);
  }
  SinkStream out(&sink);
  out.Write(std::string(payload.graph_json));
  out.Write<std::uint64_t>(names.size());
  out.Write(names);
  const std::vector<std::uint8_t> zeros(in_place_alignment);
  for (const Parameter& parameter : parameters) {
    const ArrayRecord& array = parameter.array;
    const std::uint64_t data_at =
        out.position() + header_bytes(1) + header_bytes(array.shape.size());
    const std::uint64_t gap = in_place_alignment - data_at % in_place_alignment;
    const auto extent = static_cast<std::int64_t>(gap);
    write_record(out, {1, 8, 1}, {&extent, 1}, std::span(zeros).first(gap));
    write_record(out, array.dtype, array.shape, array.data);
  }
  out.Write(std::string(payload.module_name));
}

}  // namespace gantry::graph
