// SPDX-License-Identifier: Apache-2.0
#include "payload.hpp"

#include "core/format/aligned_payload.hpp"

#include <gantry/byte_reader.hpp>
#include <gantry/compact_tensor.hpp>
#include <gantry/dmlc_stream.hpp>
#include <gantry/quoted.hpp>

#include <algorithm>
#include <utility>

namespace gantry::graph {
namespace {

// Names a field after an error rather than before each read: there are hundreds of fields.
Error prefixed(Error error, std::string_view what, std::size_t index) {
  error.message = Message(what, index, error.message);
  return error;
}

Result<std::vector<Parameter>> read_parameters(ByteReader& in) {
  const std::uint64_t count_at = in.offset();
  GANTRY_TRY(const std::uint64_t count, in.read_u64("parameter count"));
  const std::uint64_t names_at = in.offset();
  GANTRY_TRY(const std::uint64_t name_count,
             in.read_count(sizeof(std::uint64_t), "parameter names"));
  if (name_count != count) {
    return malformed(names_at, "parameter names are ", name_count, ", the count at ", Hex{count_at},
                     " is ", count)
        .with_reason("GRAPH");
  }
  std::vector<Parameter> parameters(count);
  for (std::size_t i = 0; i < count; ++i) {
    auto name = in.read_string("");
    if (!name.ok()) return prefixed(std::move(name).error(), "name of parameter ", i);
    parameters[i].name = *name;
  }
  for (std::size_t i = 0; i < count; ++i) {
    auto array = read_array_record(in, "");
    if (!array.ok()) return prefixed(std::move(array).error(), "parameter ", i);
    parameters[i].array = std::move(*array);
  }
  return parameters;
}

Status check_names(const std::vector<Parameter>& parameters) {
  std::vector<std::string_view> names;
  for (const Parameter& parameter : parameters) names.push_back(parameter.name);
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice == names.end()) return {};
  return malformed(no_offset, "parameter ", quoted(*twice), " is given twice").with_reason("GRAPH");
}

}  // namespace

Status check_parameter(const Graph& graph, const Parameter& parameter) {
  const auto found = graph.input_by_name.find(parameter.name);
  if (found == graph.input_by_name.end()) return {};
  const GraphEntry& entry = graph.entries[graph.input_entry(found->second)];
  const ArrayRecord& array = parameter.array;
  if (array.data.size() != entry.bytes || !same_dtype(array.dtype, entry.dtype)) {
    return malformed(array.data_at, "parameter ", quoted(parameter.name), " is ",
                     type_text(array.dtype, array.shape), " in ", array.data.size(),
                     " bytes, its input is ", type_text(entry), " in ", entry.bytes)
        .with_reason("GRAPH");
  }
  return {};
}

Result<std::shared_ptr<const Payload>> read_payload(Blob& blob) {
  ByteReader& in = blob.reader();
  auto payload = std::make_shared<Payload>();
  GANTRY_TRY(payload->graph_json, in.read_string("graph_json"));
  GANTRY_TRY(payload->parameters, read_parameters(in));
  GANTRY_TRY(payload->module_name, in.read_string("module_name"));
  std::erase_if(payload->parameters,
                [](const Parameter& parameter) { return is_filler(parameter.name); });
  GANTRY_CHECK(check_names(payload->parameters));
  payload->kept = blob.keep();
  return std::shared_ptr<const Payload>(std::move(payload));
}

Status write_payload(const Payload& payload, bool with_parameters, const Sink& sink) {
  const std::span<const std::uint8_t> read = payload.kept.bytes;
  if (with_parameters && sink.alignment() == 0) return sink.write(read);
  SinkStream out(&sink.raw());
  if (with_parameters) {
    // Both keys have the same payload, without numbered constants.
    return write_aligned_payload("GraphExecutorFactory", read, {},
                                 {out, out.position(), sink.alignment()});
  }
  out.Write(std::string(payload.graph_json));
  // Without names and arrays.
  out.Write<std::uint64_t>(0);
  out.Write<std::uint64_t>(0);
  out.Write(std::string(payload.module_name));
  return {};
}

Status Payload::prove() const {
  const std::lock_guard lock(mutex_);
  if (proven_) return {};
  GANTRY_TRY(Graph read, read_graph_json(graph_json, sizeof(std::uint64_t)));
  for (const Parameter& parameter : parameters) GANTRY_CHECK(check_parameter(read, parameter));
  graph = std::move(read);
  proven_ = true;
  return {};
}

gantry_tensor view_of_parameter(const Parameter& parameter) {
  const ArrayRecord& array = parameter.array;
  return compact_tensor(array.dtype, array.shape, {cpu_device_type, 0}, array.data.data());
}

}  // namespace gantry::graph
