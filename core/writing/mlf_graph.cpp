// SPDX-License-Identifier: Apache-2.0
#include "core/writing/mlf_graph.hpp"

#include "core/base/near_name.hpp"
#include "core/base/text.hpp"
#include "core/formats/array_list.hpp"
#include "core/formats/model_signature.hpp"
#include "core/formats/type_key.hpp"

#include <gantry/aligned_record.hpp>
#include <gantry/byte_reader.hpp>
#include <gantry/join.hpp>
#include <gantry/param_names.hpp>
#include <gantry/quoted.hpp>

#include <algorithm>
#include <utility>

namespace gantry {

Result<MlfGraph> read_factory(const Container& container) {
  const auto found = std::ranges::find_if(container.entries, [](const Entry& entry) {
    return entry.type_key == graph_factory_key || entry.type_key == old_graph_factory_key;
  });
  if (found == container.entries.end()) {
    return not_found(
        "no module is a graph (", graph_factory_key, "), the modules are ",
        join(
            container.entries, ", ", [](const Entry& entry) { return quoted(entry.type_key); },
            max_listed_names));
  }
  ByteReader in(found->payload, found->at);
  GANTRY_TRY(ArrayList factory, read_array_list(in, *array_list_form(found->type_key)));
  std::erase_if(factory.arrays, [](const Param& each) { return is_filler(each.name); });
  MlfGraph graph;
  graph.text = factory.graph_json;
  GANTRY_TRY(graph.graph, read_graph_json(graph.text, found->at + sizeof(std::uint64_t)));
  graph.parameters = std::move(factory.arrays);
  graph.module_name = factory.module_name;
  return graph;
}

Result<MlfGraph> read_archived_graph(const ModelLibrary& archive, std::size_t model) {
  const MlfModelFiles& files = archive.model_files[model];
  MlfGraph graph;
  graph.text = as_text(archive.files.find(files.graph)->content);
  auto read = read_graph_json(graph.text, 0);
  if (!read.ok()) return std::move(read).error().at("in ", files.graph);
  graph.graph = std::move(*read);
  const ArchiveMember* parameters = archive.files.find(files.parameters);
  if (parameters == nullptr) return graph;
  auto arrays = read_params(parameters->content);
  if (!arrays.ok()) return std::move(arrays).error().at("in ", files.parameters);
  graph.parameters = std::move(*arrays);
  return graph;
}

Pieces params_of(const std::shared_ptr<const MappedFile>& file,
                 const std::vector<Param>& parameters) {
  Pieces out;
  out.Write<std::uint64_t>(params_magic);
  out.Write<std::uint64_t>(0);
  out.Write<std::uint64_t>(parameters.size());
  for (const Param& parameter : parameters) out.write_text(parameter.name);
  out.Write<std::uint64_t>(parameters.size());
  for (const Param& parameter : parameters) {
    const std::span<const std::uint8_t> data = parameter.array.data;
    write_record_header(out, parameter.array.dtype, parameter.array.shape, data.size());
    out.append(FileRange{file, static_cast<std::uint64_t>(data.data() - file->bytes().data()),
                         data.size()});
  }
  return out;
}

}  // namespace gantry
