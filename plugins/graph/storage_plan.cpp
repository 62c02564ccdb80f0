// SPDX-License-Identifier: Apache-2.0
#include "storage_plan.hpp"

#include <gantry/device_name.hpp>
#include <gantry/quoted.hpp>

#include <algorithm>
#include <map>
#include <utility>

namespace gantry::graph {
namespace {

constexpr std::uint32_t none = UINT32_MAX;

// Numbers slots by storage id, in the order of their first occurrence in the graph.
Result<std::vector<std::uint32_t>> plan_slots(const Graph& graph,
                                              std::span<const gantry_device_id> devices,
                                              std::vector<Slot>& slots) {
  // An ordered map: a malicious file could choose ids that collide in a hash table.
  std::map<std::int64_t, std::uint32_t> slot_by_id;
  std::vector<std::uint32_t> first_of_slot, slot_of(graph.entries.size());
  for (std::uint32_t e = 0; e < graph.entries.size(); ++e) {
    const GraphEntry& entry = graph.entries[e];
    if (entry.scope.find("texture") != std::string::npos) {
      return unsupported("entry ", e, " has storage scope ", quoted(entry.scope),
                         ", texture memory is not supported")
          .with_reason("GRAPH");
    }
    const auto next = static_cast<std::uint32_t>(slots.size());
    const std::uint32_t s =
        entry.storage_id < 0 ? next : slot_by_id.try_emplace(entry.storage_id, next).first->second;
    if (s == next) {
      slots.push_back({entry.storage_id, devices[e], 0, false});
      first_of_slot.push_back(e);
    }
    Slot& slot = slots[s];
    if (!same_device(slot.device, devices[e])) {
      return malformed(no_offset, "storage ", entry.storage_id, " holds entry ", first_of_slot[s],
                       " on device ", slot.device.type, ":", slot.device.index, " and entry ", e,
                       " on device ", devices[e].type, ":", devices[e].index)
          .with_reason("GRAPH");
    }
    slot.bytes = std::max(slot.bytes, entry.bytes);
    slot_of[e] = s;
  }
  return slot_of;
}

// Merges two values. The entries of the smaller one move, so that merging all entries costs at most
// O(entries log entries); the smaller value becomes empty.
void merge(StoragePlan& plan, std::uint32_t a, std::uint32_t b) {
  if (a == b) return;
  if (plan.values[a].entries.size() < plan.values[b].entries.size()) std::swap(a, b);
  StoredValue& into = plan.values[a];
  StoredValue& from = plan.values[b];
  for (const std::uint32_t e : from.entries) plan.value_of[e] = a;
  into.entries.insert(into.entries.end(), from.entries.begin(), from.entries.end());
  into.inputs += from.inputs;
  from = {from.slot, 0, {}};
}

// Merges a reshape's outputs with each other and with its inputs in the same slot.
//
// output_in [in,out]  indexed by slot: the first output in the slot; all none before and after
// costs     one merge for each input and output
void merge_reshape(StoragePlan& plan, std::span<const std::uint32_t> slot_of, const GraphNode& node,
                   std::vector<std::uint32_t>& output_in) {
  const auto slot_of_output = [&](std::uint32_t i) { return slot_of[node.first_entry + i]; };
  for (std::uint32_t i = 0; i < node.output_count; ++i) {
    std::uint32_t& first = output_in[slot_of_output(i)];
    if (first == none) first = node.first_entry + i;
    merge(plan, plan.value_of[first], plan.value_of[node.first_entry + i]);
  }
  for (const std::uint32_t input : node.inputs) {
    const std::uint32_t output = output_in[slot_of[input]];
    if (output != none) merge(plan, plan.value_of[input], plan.value_of[output]);
  }
  for (std::uint32_t i = 0; i < node.output_count; ++i) output_in[slot_of_output(i)] = none;
}

}  // namespace

Result<StoragePlan> plan_storage(const Graph& graph, std::span<const gantry_device_id> devices) {
  StoragePlan plan;
  GANTRY_TRY(const std::vector<std::uint32_t> slot_of, plan_slots(graph, devices, plan.slots));

  // Nodes are in execution order, so the values of a reshape's inputs are known.
  plan.value_of.resize(graph.entries.size());
  std::vector<std::uint32_t> output_in(plan.slots.size(), none);
  for (const GraphNode& node : graph.nodes) {
    for (std::uint32_t i = 0; i < node.output_count; ++i) {
      const std::uint32_t e = node.first_entry + i;
      plan.value_of[e] = static_cast<std::uint32_t>(plan.values.size());
      plan.values.push_back({slot_of[e], node.kind == GraphNodeKind::input ? 1u : 0u, {e}});
      if (node.kind == GraphNodeKind::call || node.kind == GraphNodeKind::copy)
        plan.slots[slot_of[e]].written = true;
    }
    if (node.kind == GraphNodeKind::nop) merge_reshape(plan, slot_of, node, output_in);
  }
  return plan;
}

}  // namespace gantry::graph
