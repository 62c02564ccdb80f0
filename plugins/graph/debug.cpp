// SPDX-License-Identifier: Apache-2.0
#include "functions.hpp"

#include <chrono>

namespace gantry::graph {
namespace {

using Clock = std::chrono::steady_clock;

Result<std::uint32_t> node_of(const Executor& executor, const Call& call, const gantry_value& key) {
  const Graph& graph = executor.graph();
  if (const auto name = value_text(key)) {
    for (std::uint32_t n = 0; n < graph.nodes.size(); ++n) {
      if (graph.nodes[n].name == *name) return n;
    }
    return not_found("node ", quoted(*name), " not found, node count is ", graph.nodes.size())
        .with_reason("NODE");
  }
  return index_of(call, key, "node", graph.nodes.size());
}

}  // namespace

// Runs up to and including a node, and returns its first output.
Result<Value> debug_get_output(Executor& executor, const Call& call) {
  GANTRY_CHECK(call.count_is(1, 2));
  GANTRY_TRY(const std::uint32_t n, node_of(executor, call, call.args[0]));
  const GraphNode& node = executor.graph().nodes[n];
  if (node.output_count == 0) return call.refuse("node ", quoted(node.name), " has no output");
  GANTRY_CHECK(executor.run_until(std::size_t{n} + 1, call.env));
  if (call.args.size() == 1) return executor.memory().tensor(node.first_entry);
  GANTRY_TRY(const gantry_tensor* to, call.tensor(1));
  GANTRY_CHECK(
      executor.host().tensor_copy(executor.memory().cell(node.first_entry), *to, call.env));
  return Value();
}

Result<Value> profile(Executor& executor, const Call& call) {
  GANTRY_CHECK(call.count_is(0));
  const Host& host = executor.host();
  std::vector<Host::Entry> times;
  GANTRY_CHECK(executor.profile(call.env, [&](const GraphNode& node, std::int64_t ns) -> Status {
    GANTRY_TRY(Value name, host.text(node.name));
    times.emplace_back(std::move(name), Value::adopt(int_value(ns)));
    return {};
  }));
  return host.map(times);
}

// Runs with a wait after each operator. A wait before the first one excludes earlier work from its
// time.
Status Executor::profile(const gantry_env* given,
                         const std::function<Status(const GraphNode&, std::int64_t)>& seen) {
  const gantry_env outer = env_of(given);
  const auto finish = [&](const gantry_env& env) -> Status {
    GANTRY_TRY(const gantry_device device, host().device(env.device));
    StatusBuffer status;
    if (const gantry_code code =
            device.table->synchronize(device.self, env.device.index, env.stream, status.get())) {
      return status.error(code, "synchronize");
    }
    return {};
  };
  gantry_env env = outer;
  for (const Op& op : ops_) {
    env.device = op.device;
    env.stream = stream_of(op, outer);
    GANTRY_CHECK(finish(env));
    StatusBuffer status;
    const Clock::time_point begun = Clock::now();
    const gantry_env& where = op.function != nullptr ? env : outer;
    if (const gantry_code code = run_op(op, where, status.get())) return status.error(code, "run");
    GANTRY_CHECK(finish(env));
    GANTRY_CHECK(
        seen(graph().nodes[op.node], std::chrono::nanoseconds(Clock::now() - begun).count()));
  }
  return {};
}

}  // namespace gantry::graph
