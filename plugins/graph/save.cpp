// SPDX-License-Identifier: Apache-2.0
//
// The way back: a payload to bytes whose parameters lie where executors can use them in place.
#include "payload.hpp"

#include <gantry/aligned_record.hpp>
#include <gantry/dmlc_stream.hpp>

namespace gantry::graph {
void write_payload(const Payload& payload, std::span<const Parameter> parameters,
                   const gantry_sink& sink) {
  std::vector<std::string_view> names;
  for (const Parameter& parameter : parameters) names.push_back(parameter.name);
  const std::vector<std::string> stored = names_with_fillers(names);
  SinkStream out(&sink);
  out.Write(std::string(payload.graph_json));
  out.Write<std::uint64_t>(stored.size());
  out.Write(stored);
  for (const Parameter& parameter : parameters) {
    const ArrayRecord& array = parameter.array;
    write_filler(out, out.position(), array.shape.size());
    write_record_header(out, array.dtype, array.shape, array.data.size());
    if (!array.data.empty()) out.Write(array.data.data(), array.data.size());
  }
  out.Write(std::string(payload.module_name));
}

}  // namespace gantry::graph
