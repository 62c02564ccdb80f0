// SPDX-License-Identifier: Apache-2.0
#include "payload.hpp"

#include "core/formats/aligned_payload.hpp"
#include "core/formats/type_key.hpp"

#include <gantry/compact_tensor.hpp>
#include <gantry/dmlc_stream.hpp>
#include <gantry/quoted.hpp>

#include <algorithm>
#include <utility>

namespace gantry::graph {
namespace {

// Both keys have the same payload.
const ArrayListForm& factory_form() { return *array_list_form(graph_factory_key); }

Status check_names(const std::vector<const Parameter*>& parameters) {
  std::vector<std::string_view> names;
  for (const Parameter* parameter : parameters) names.push_back(parameter->name);
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
  auto payload = std::make_shared<Payload>();
  GANTRY_TRY(payload->list, read_array_list(blob.reader(), factory_form()));
  for (const Parameter& each : payload->list.arrays) {
    if (!is_filler(each.name)) payload->parameters.push_back(&each);
  }
  GANTRY_CHECK(check_names(payload->parameters));
  payload->kept = blob.keep();
  return std::shared_ptr<const Payload>(std::move(payload));
}

Status write_payload(const Payload& payload, bool with_parameters, const Sink& sink) {
  SinkStream out(&sink.raw());
  if (!with_parameters) {
    const ArrayList bare{.graph_json = payload.list.graph_json,
                         .arrays = {},
                         .module_name = payload.list.module_name,
                         .users = {}};
    write_array_list(out, factory_form(), bare);
    return {};
  }
  if (sink.alignment() == 0) {
    write_array_list(out, factory_form(), payload.list);
    return {};
  }
  // Without numbered constants.
  return write_aligned_payload(graph_factory_key, payload.kept.bytes, {},
                               {out, out.position(), sink.alignment()});
}

Status Payload::parse_graph() const {
  const std::lock_guard lock(mutex_);
  if (is_parsed_) return {};
  GANTRY_TRY(Graph read, read_graph_json(list.graph_json, sizeof(std::uint64_t)));
  for (const Parameter* parameter : parameters) GANTRY_CHECK(check_parameter(read, *parameter));
  graph = std::move(read);
  is_parsed_ = true;
  return {};
}

gantry_tensor view_of_parameter(const Parameter& parameter) {
  const ArrayRecord& array = parameter.array;
  return compact_tensor(array.dtype, array.shape, {cpu_device_type, 0}, array.data.data());
}

}  // namespace gantry::graph
