// SPDX-License-Identifier: Apache-2.0
#include "core/formats/model_signature.hpp"

#include "core/formats/graph_json.hpp"
#include "core/formats/type_key.hpp"

#include <gantry/byte_reader.hpp>

#include <set>
#include <string_view>

namespace gantry {
namespace {

SignatureTensor tensor_of(std::string name, const GraphEntry& entry) {
  return {std::move(name), entry.dtype, entry.shape, entry.device_number};
}

// The names of the parameters, which follow their count.
Result<std::set<std::string_view>> read_names(ByteReader& in) {
  GANTRY_CHECK(in.skip(sizeof(std::uint64_t), "parameter count"));
  GANTRY_TRY(const std::uint64_t count, in.read_count(sizeof(std::uint64_t), "parameter names"));
  std::set<std::string_view> names;
  for (std::uint64_t i = 0; i < count; ++i) {
    GANTRY_TRY(const std::string_view name, in.read_string("parameter name"));
    names.insert(name);
  }
  return names;
}

}  // namespace

std::string compiled_output_name(std::string_view stated, std::size_t index, std::size_t count) {
  const bool is_numbered = count == 1 && stated == "output0";
  return is_numbered ? output_name(index, count) : std::string(stated);
}

Result<std::optional<ModelSignature>> read_signature(const Entry& entry) {
  if (entry.type_key != graph_factory_key && entry.type_key != old_graph_factory_key) {
    return std::optional<ModelSignature>();
  }
  ByteReader in(entry.payload, entry.at);
  GANTRY_TRY(const std::string_view text, in.read_string("graph"));
  GANTRY_TRY(const Graph graph, read_graph_json(text, in.offset() - text.size()));
  GANTRY_TRY(const std::set<std::string_view> parameters, read_names(in));

  ModelSignature signature;
  for (std::uint32_t i = 0; i < graph.inputs.size(); ++i) {
    const std::string& name = graph.input(i).name;
    if (parameters.contains(name)) continue;
    signature.inputs.push_back(tensor_of(name, graph.entries[graph.input_entry(i)]));
  }
  for (std::size_t i = 0; i < graph.heads.size(); ++i) {
    std::string name =
        graph.output_names.empty() ? output_name(i, graph.heads.size()) : graph.output_names[i];
    signature.outputs.push_back(tensor_of(std::move(name), graph.entries[graph.heads[i].entry]));
  }
  std::set<std::int64_t> numbers;
  for (const GraphEntry& each : graph.entries) {
    if (each.device_number >= 0) numbers.insert(each.device_number);
  }
  signature.device_numbers.assign(numbers.begin(), numbers.end());
  return std::optional(std::move(signature));
}

}  // namespace gantry
