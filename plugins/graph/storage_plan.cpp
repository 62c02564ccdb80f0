// SPDX-License-Identifier: Apache-2.0
#include "storage_plan.hpp"

#include <gantry/quoted.hpp>

#include <algorithm>
#include <map>
#include <utility>

namespace gantry::graph {
namespace {

constexpr std::uint32_t none = UINT32_MAX;

bool same(gantry_device_id a, gantry_device_id b) { return a.type == b.type && a.index == b.index; }

// Slots by storage id, in the order in which the graph first names them.
Result<std::vector<std::uint32_t>> plan_slots(const Graph& graph,
                                              std::span<const gantry_device_id> devices,
                                              std::vector<Slot>& slots) {
  // Ordered: the ids are the file's, which could choose them so that they meet in one bucket.
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
    if (!same(slot.device, devices[e])) {
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

// Makes two values one. The smaller moves, so that joining all entries costs O(entries log entries) at most; what is
// left of it holds no entry.
void join(StoragePlan& plan, std::uint32_t a, std::uint32_t b) {
  if (a == b) return;
  if (plan.values[a].entries.size() < plan.values[b].entries.size()) std::swap(a, b);
  StoredValue& into = plan.values[a];
  StoredValue& from = plan.values[b];
  for (const std::uint32_t e : from.entries) plan.value_of[e] = a;
  into.entries.insert(into.entries.end(), from.entries.begin(), from.entries.end());
  into.inputs += from.inputs;
  from = {from.slot, 0, {}};
}

// Makes a reshape's outputs one value with each other and with the inputs of the same slot.
//
// output_in [in,out]  by slot, all none: the first output there
// costs     one join for each input and output
void join_reshape(StoragePlan& plan, std::span<const std::uint32_t> slot_of, const GraphNode& node,
                  std::vector<std::uint32_t>& output_in) {
  const auto slot_of_output = [&](std::uint32_t i) { return slot_of[node.first_entry + i]; };
  for (std::uint32_t i = 0; i < node.output_count; ++i) {
    std::uint32_t& first = output_in[slot_of_output(i)];
    if (first == none) first = node.first_entry + i;
    join(plan, plan.value_of[first], plan.value_of[node.first_entry + i]);
  }
  for (const std::uint32_t input : node.inputs) {
    const std::uint32_t output = output_in[slot_of[input]];
    if (output != none) join(plan, plan.value_of[input], plan.value_of[output]);
  }
  for (std::uint32_t i = 0; i < node.output_count; ++i) output_in[slot_of_output(i)] = none;
}

}  // namespace

Result<StoragePlan> plan_storage(const Graph& graph, std::span<const gantry_device_id> devices) {
  StoragePlan plan;
  GANTRY_TRY(const std::vector<std::uint32_t> slot_of, plan_slots(graph, devices, plan.slots));

  // Nodes stand in running order, so a reshape's input has its value before the reshape is met.
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
    if (node.kind == GraphNodeKind::nop) join_reshape(plan, slot_of, node, output_in);
  }
  return plan;
}

}  // namespace gantry::graph
