// SPDX-License-Identifier: Apache-2.0
#include "core/formats/mlf/memory_map.hpp"

#include "core/formats/model_signature.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace gantry {
namespace {

constexpr std::int64_t cpu_device_type = 1;

std::int64_t device_of(const GraphEntry& entry) {
  return entry.device_number < 0 ? cpu_device_type : entry.device_number;
}

MlfTensor described(std::string name, const GraphEntry& entry) {
  return {std::move(name), entry.bytes, dtype_text(entry.dtype)};
}

}  // namespace

std::vector<MlfStorage> storage_of(const Graph& graph) {
  std::map<std::int64_t, MlfStorage> by_id;
  for (const GraphEntry& entry : graph.entries) {
    if (entry.storage_id < 0) continue;
    MlfStorage& storage = by_id[entry.storage_id];
    storage.storage_id = entry.storage_id;
    storage.size_bytes = std::max(storage.size_bytes, entry.bytes);
  }
  for (std::uint32_t i = 0; i < graph.inputs.size(); ++i) {
    const GraphEntry& entry = graph.entries[graph.input_entry(i)];
    if (entry.storage_id < 0) continue;
    std::string& binding = by_id[entry.storage_id].input_binding;
    if (binding.empty()) binding = graph.input(i).name;
  }
  std::vector<MlfStorage> all;
  for (auto& [id, storage] : by_id) all.push_back(std::move(storage));
  return all;
}

std::vector<MlfMain> main_memory_of(const Graph& graph, const std::set<std::string>& parameters) {
  std::map<std::int64_t, MlfMain> by_device;
  const auto on_device = [&](const GraphEntry& entry) -> MlfMain& {
    MlfMain& main = by_device[device_of(entry)];
    main.device = device_of(entry);
    return main;
  };
  // entries of inputs and parameters, and their storage
  std::set<std::uint32_t> inputs;
  std::set<std::int64_t> counted;
  for (std::uint32_t i = 0; i < graph.inputs.size(); ++i) {
    const GraphEntry& entry = graph.entries[graph.input_entry(i)];
    inputs.insert(graph.input_entry(i));
    counted.insert(entry.storage_id);
    MlfMain& main = on_device(entry);
    const std::string& name = graph.input(i).name;
    if (parameters.contains(name)) {
      main.constants_size_bytes += entry.bytes;
      continue;
    }
    main.io_size_bytes += entry.bytes;
    if (!main.inputs) main.inputs.emplace();
    main.inputs->push_back(described(name, entry));
  }
  for (std::size_t i = 0; i < graph.heads.size(); ++i) {
    const GraphEntry& entry = graph.entries[graph.heads[i].entry];
    MlfMain& main = on_device(entry);
    main.io_size_bytes += entry.bytes;
    if (!main.outputs) main.outputs.emplace();
    main.outputs->push_back(described(
        graph.output_names.empty() ? output_name(i, graph.heads.size()) : graph.output_names[i],
        entry));
  }
  // The largest entry of each other storage. Entries of id -1 share no memory.
  std::map<std::int64_t, const GraphEntry*> largest;
  for (std::uint32_t e = 0; e < graph.entries.size(); ++e) {
    const GraphEntry& entry = graph.entries[e];
    if (entry.storage_id < 0) {
      if (!inputs.contains(e)) on_device(entry).workspace_size_bytes += entry.bytes;
      continue;
    }
    if (counted.contains(entry.storage_id)) continue;
    const GraphEntry*& found = largest[entry.storage_id];
    if (found == nullptr || found->bytes < entry.bytes) found = &entry;
  }
  for (const auto& [id, entry] : largest) on_device(*entry).workspace_size_bytes += entry->bytes;
  std::vector<MlfMain> all;
  for (auto& [device, main] : by_device) all.push_back(std::move(main));
  return all;
}

std::map<std::int64_t, std::uint64_t> inner_memory_of(const Graph& graph) {
  std::set<std::uint32_t> outer;
  std::set<std::int64_t> of_inputs;
  for (std::uint32_t i = 0; i < graph.inputs.size(); ++i) {
    outer.insert(graph.input_entry(i));
    of_inputs.insert(graph.entries[graph.input_entry(i)].storage_id);
  }
  for (const GraphOutput& head : graph.heads) outer.insert(head.entry);
  std::map<std::int64_t, std::uint64_t> by_device;
  // An entry of id -1 shares no memory.
  std::map<std::int64_t, const GraphEntry*> largest;
  for (std::uint32_t e = 0; e < graph.entries.size(); ++e) {
    const GraphEntry& entry = graph.entries[e];
    if (outer.contains(e)) continue;
    if (entry.storage_id < 0) {
      by_device[device_of(entry)] += entry.bytes;
    } else if (!of_inputs.contains(entry.storage_id)) {
      const GraphEntry*& found = largest[entry.storage_id];
      if (found == nullptr || found->bytes < entry.bytes) found = &entry;
    }
  }
  for (const auto& [id, entry] : largest) by_device[device_of(*entry)] += entry->bytes;
  return by_device;
}

}  // namespace gantry
