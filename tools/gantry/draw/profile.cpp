// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/draw/profile.hpp"

#include <gantry/json_tree.hpp>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

namespace gantry::cli {
namespace {

// Returns a negative number for what is no time.
double time_in(const std::optional<JsonValue>& value) {
  if (!value) return -1;
  if (value->is(JsonKind::count)) return static_cast<double>(value->count());
  if (value->is(JsonKind::fraction) && std::isfinite(value->fraction())) return value->fraction();
  return -1;
}

struct Places {
  std::vector<FlowNode*> nodes;
  Flow* function = nullptr;
};

// The flows that a run of the profile's function reaches; all, if it names none and there is no "main".
std::vector<Flow*> run_flows(const Profile& profile, Drawing& drawing) {
  std::map<std::string_view, Flow*> functions;
  std::vector<Flow*> all, reached;
  for (Flow& flow : drawing.flows) {
    all.push_back(&flow);
    // graphs call no functions of a virtual machine
    flow.timed.empty() ? reached.push_back(&flow) : void(functions.emplace(flow.timed, &flow));
  }
  const std::string name = profile.function.empty() ? "main" : shown_text(profile.function);
  std::vector<std::string_view> waiting{name};
  while (!waiting.empty()) {
    const auto found = functions.find(waiting.back());
    waiting.pop_back();
    if (found == functions.end()) continue;
    reached.push_back(found->second);
    for (const FlowNode& node : found->second->nodes) {
      if (!node.timed.empty()) waiting.push_back(node.timed);
    }
    functions.erase(found);
  }
  const bool has_function =
      std::ranges::any_of(reached, [](const Flow* flow) { return !flow->timed.empty(); });
  return has_function ? reached : all;
}

}  // namespace

Result<Profile> read_profile(std::string_view json) {
  GANTRY_TRY(const JsonTree tree, JsonTree::parse(json, {.name = "profile"}));
  const std::optional<JsonValue> list = tree.root().find("operators");
  if (!list || !list->is(JsonKind::array)) {
    return malformed(tree.root().offset(),
                     "profile has no list \"operators\"; gantry bench --json prints one");
  }
  Profile profile;
  const std::optional<JsonValue> function = tree.root().find("function");
  if (function && function->is(JsonKind::text)) profile.function = function->text();
  double total = 0;
  for (const JsonValue each : *list) {
    const std::optional<JsonValue> name = each.find("name");
    const double ns = time_in(each.find("mean_ns"));
    if (!name || !name->is(JsonKind::text) || ns < 0) {
      return malformed(each.offset(), "operator of the profile has no name and time \"mean_ns\"");
    }
    profile.operators[std::string(name->text())].ns += ns;
    total += ns;
  }
  for (auto& [name, each] : profile.operators) each.share = total > 0 ? each.ns / total : 0;
  return profile;
}

Status add_profile(const Profile& profile, Drawing& drawing) {
  std::map<std::string, Places, std::less<>> by_name;
  for (Flow* const reached : run_flows(profile, drawing)) {
    Flow& flow = *reached;
    if (!flow.timed.empty()) by_name[flow.timed].function = &flow;
    for (FlowNode& node : flow.nodes) {
      if (!node.timed.empty()) by_name[node.timed].nodes.push_back(&node);
    }
  }
  double shown = 0;
  bool has_any = false;
  for (const auto& [name, time] : profile.operators) {
    const auto found = by_name.find(shown_text(name));
    if (found == by_name.end()) continue;
    has_any = true;
    shown += time.share;
    const Places& places = found->second;
    if (places.function != nullptr) {
      places.function->share = time.share;
      places.function->ns = time.ns;
      continue;
    }
    for (FlowNode* node : places.nodes) {
      node->share = time.share / static_cast<double>(places.nodes.size());
      node->ns = time.ns / static_cast<double>(places.nodes.size());
      node->places = places.nodes.size();
    }
  }
  if (!has_any) {
    return invalid("profile has ", profile.operators.size(),
                   profile.operators.size() == 1 ? " operator" : " operators",
                   ", none of which the file has: it is of another file");
  }
  drawing.other_share = std::max(1 - shown, 0.0);
  return {};
}

}  // namespace gantry::cli
