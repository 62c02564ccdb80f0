// SPDX-License-Identifier: Apache-2.0
#include "core/formats/model_signature.hpp"

#include "core/formats/factory_graph.hpp"
#include "core/formats/type_key.hpp"

#include <set>
#include <string_view>

namespace gantry {
namespace {

SignatureTensor tensor_of(std::string name, const GraphEntry& entry) {
  return {std::move(name), entry.dtype, entry.shape, entry.device_number};
}

}  // namespace

std::string compiled_output_name(std::string_view stated, std::size_t index, std::size_t count) {
  const bool is_numbered = count == 1 && stated == "output0";
  return is_numbered ? output_name(index, count) : std::string(stated);
}

Result<std::optional<ModelSignature>> read_signature(const Entry& entry) {
  if (content_of(entry.type_key) != PayloadContent::graph) return std::optional<ModelSignature>();
  GANTRY_TRY(const FactoryGraph payload, read_factory_graph(entry));
  const Graph& graph = payload.graph;
  const std::set<std::string_view> parameters = payload.parameters();

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
  return std::optional(std::move(signature));
}

}  // namespace gantry
