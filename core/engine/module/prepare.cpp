// SPDX-License-Identifier: Apache-2.0
#include "core/engine/module/prepare.hpp"

#include "core/base/thread_end.hpp"
#include "core/base/trace/span.hpp"
#include "core/engine/module/module_graph.hpp"
#include "core/engine/tensor/device_set.hpp"

#include <gantry/abi_boundary.hpp>

#include <utility>
#include <vector>

namespace gantry {
namespace {

// The devices on which functions of a module run.
std::vector<gantry_device_id> devices_of(const ModuleNode& node,
                                         std::span<const gantry_device_id> devices) {
  if (node.device_type == 0) return {{kCpu, 0}};
  std::vector<gantry_device_id> own;
  for (const gantry_device_id device : devices)
    if (device.type == node.device_type) own.push_back(device);
  return own;
}

Status prepare(ModuleNode& node, std::span<const gantry_device_id> devices, const gantry_env& env) {
  const auto* const table = node.table.load(std::memory_order_acquire);
  const std::vector<gantry_device_id> own = devices_of(node, devices);
  // Tables of the core have no stubs.
  if (table == nullptr || table->prepare == nullptr || own.empty()) return {};
  if (!may_call(node)) return process_end_error(concat("prepare of ", described(node)));
  const Span span(node.artifact->trace, "prepare", "load");
  gantry_prepare what{};
  what.struct_size = sizeof what;
  what.device_count = static_cast<std::uint32_t>(own.size());
  what.devices = own.data();
  const auto owner = [&] { return described(node); };
  StatusBuffer buffer;
  const gantry_code code = call_plugin(
      buffer, "prepare", node.plugin, owner,
      [&](gantry_status* status) { return table->prepare(node.self, &env, &what, status); });
  if (code == GANTRY_OK) return {};
  return buffer.error(code, concat("prepare of ", described(node)))
      .at("while preparing ", location_of(node));
}

}  // namespace

Status prepare_modules(ModuleNode& root, std::span<const gantry_device_id> devices,
                       const gantry_env& env, const std::function<bool()>& is_cancelled) {
  Status first;
  for (ModuleNode* const node : reachable(root)) {
    if (is_cancelled())
      return fail(Code::cancelled, "preparation is cancelled").with_reason("CANCELLED");
    Status prepared = prepare(*node, devices, env);
    if (prepared.ok()) continue;
    if (prepared.error().code == Code::cancelled) return prepared;
    if (first.ok()) first = std::move(prepared);
  }
  return first;
}

}  // namespace gantry
