// SPDX-License-Identifier: Apache-2.0
#include "executor.hpp"

#include <gantry/call_streams.hpp>
#include <gantry/quoted.hpp>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

namespace gantry::graph {

Result<std::unique_ptr<Executor>> Executor::create(const Source& source,
                                                   std::span<const gantry_device_id> devices,
                                                   const gantry_env* env) {
  GANTRY_CHECK(source.payload->parse_graph());
  std::unique_ptr<Executor> executor(new Executor(source));
  GANTRY_CHECK(executor->memory_.create(source, devices, env));
  GANTRY_CHECK(executor->make_ops(source));
  const Graph& graph = executor->graph();
  for (std::uint32_t i = 0; i < graph.inputs.size(); ++i) {
    executor->is_parameter.push_back(executor->memory_.is_linked(graph.input_entry(i)));
  }
  if (source.with_parameters) {
    for (const Parameter* parameter : source.payload->parameters) {
      const auto input = graph.input_by_name.find(parameter->name);
      if (input != graph.input_by_name.end()) executor->is_parameter[input->second] = true;
    }
  }
  executor->batches_ = source.host.extension<gantry_batch>(GANTRY_BATCH_1);
  GANTRY_CHECK(executor->make_stretches());
  return executor;
}

// Looks up each name once and reports all missing functions in one error.
Status Executor::find_functions(const Source& source,
                                std::map<std::string_view, gantry_object*>& by_name) {
  for (const GraphNode& node : graph().nodes) {
    if (node.kind == GraphNodeKind::call) by_name.emplace(node.function, nullptr);
  }
  constexpr std::size_t max_names_shown = 8;
  std::string missing;
  std::size_t missing_count = 0;
  std::optional<Error> first;
  for (auto& [name, object] : by_name) {
    Result<ObjectRef> found = source.host.find(source.node, GANTRY_FIND_IMPORTS, name);
    if (found.ok()) {
      object = found->get();
      functions_.push_back(std::move(found).value());
      continue;
    }
    if (found.error().code != Code::not_found) return std::move(found).error();
    if (++missing_count <= max_names_shown)
      missing += concat(missing_count == 1 ? "" : ", ", quoted(name));
    if (!first) first = std::move(found).error();
  }
  if (missing_count == 0) return {};
  if (missing_count > max_names_shown) missing += ", ...";
  return not_found("graph calls ", by_name.size(), " functions, ", missing_count,
                   " are in no import: ", missing)
      .with_reason("FUNCTIONS_MISSING")
      .at("look-up of the first reports: ", first->message);
}

Status Executor::make_ops(const Source& source) {
  std::map<std::string_view, gantry_object*> by_name;
  GANTRY_CHECK(find_functions(source, by_name));
  for (std::uint32_t n = 0; n < graph().nodes.size(); ++n) {
    const GraphNode& node = graph().nodes[n];
    if (node.kind != GraphNodeKind::call && node.kind != GraphNodeKind::copy) continue;
    Op op{node.kind == GraphNodeKind::copy ? nullptr : by_name[node.function],
          static_cast<std::uint32_t>(args_.size()),
          0,
          {1, 0},
          n};
    const auto add = [&](std::uint32_t entry) {
      args_.push_back(
          tensor_ref_value(node.flatten ? &memory_.flat_cell(entry) : &memory_.cell(entry)));
      // The device of the last argument, which is an output if there is one.
      op.device = memory_.cell(entry).device;
    };
    for (const std::uint32_t entry : node.inputs) add(entry);
    for (std::uint32_t i = 0; i < node.output_count; ++i) add(node.first_entry + i);
    op.arg_count = static_cast<std::int32_t>(args_.size() - op.first_arg);
    ops_.push_back(op);
  }
  return {};
}

Status Executor::make_stretches() {
  const auto is_call = [](const Op& op) { return op.function != nullptr; };
  for (std::size_t first = 0; first < ops_.size();) {
    const bool calls = is_call(ops_[first]);
    std::size_t end = first + 1;
    while (end < ops_.size() && is_call(ops_[end]) == calls) ++end;
    stretches_.push_back({first, end, {}});
    if (calls && batches_ != nullptr) GANTRY_CHECK(prepare(stretches_.back()));
    first = end;
  }
  return {};
}

Status Executor::prepare(Stretch& stretch) {
  std::vector<gantry_batch_call> calls;
  for (const Op& op : ops_of(stretch))
    calls.push_back({op.function, args_.data() + op.first_arg, op.arg_count, 0, op.device});
  const gantry_host* table = host().table();
  gantry_object* batch = nullptr;
  StatusBuffer status;
  if (const gantry_code code =
          batches_->prepare(table, calls.data(), calls.size(), &batch, status.get()))
    return status.error(code, "prepare of gantry.batch/1");
  stretch.batch = ObjectRef::adopt(batch);
  return {};
}

gantry_code Executor::failed(const Op& op, gantry_code code, gantry_status* status) const {
  if (status == nullptr) return code;
  const Message location =
      Message().at("in node ", op.node, " ", quoted(graph().nodes[op.node].name));
  gantry_status_add(status, location.c_str());
  return code;
}

template <bool traced>
gantry_code Executor::run_ops(std::span<const Op> ops, const gantry_env& outer,
                              gantry_status* status) {
  const CallStreams streams(outer);
  for (const Op& op : ops) {
    if (outer.task != nullptr && host().is_cancelled(&outer)) {
      return gantry_fail(status, GANTRY_CANCELLED, "CANCELLED", "run is cancelled");
    }
    const gantry_env env = streams.on(op.device);
    const std::int64_t begun = traced ? trace_.now() : -1;
    const gantry_code code = run_op(op, op.function != nullptr ? env : outer, status);
    if constexpr (traced) trace_.end(begun, graph().nodes[op.node].name, "op");
    if (code != GANTRY_OK) [[unlikely]]
      return code;
  }
  return GANTRY_OK;
}

gantry_code Executor::run_stretch(const Stretch& stretch, const gantry_env& outer,
                                  gantry_status* status) {
  const std::span<const Op> ops = ops_of(stretch);
  if (!stretch.batch) return run_ops<false>(ops, outer, status);
  std::uint64_t at = GANTRY_NO_CALL;
  const gantry_code code = batches_->run(host().table(), stretch.batch.get(), &outer, &at, status);
  return code == GANTRY_OK || at >= ops.size() ? code : failed(ops[at], code, status);
}

// Adds a span for each operator to a recorded trace, because the host's spans of calls do not
// contain the node's name.
gantry_code Executor::run_until(std::size_t node, const gantry_env* given, gantry_status* status) {
  const gantry_env outer = env_of(given);
  const auto end = std::lower_bound(ops_.begin(), ops_.end(), node,
                                    [](const Op& op, std::size_t n) { return op.node < n; });
  const std::span<const Op> ops(ops_.begin(), end);
  if (trace_.is_recording()) return run_ops<true>(ops, outer, status);
  if (ops.size() != ops_.size()) return run_ops<false>(ops, outer, status);
  for (const Stretch& stretch : stretches_) {
    if (const gantry_code code = run_stretch(stretch, outer, status)) return code;
  }
  return GANTRY_OK;
}

Status Executor::capture_runs() {
  if (ops_.empty()) return unsupported("there is no operator to record").with_reason("CAPTURE");
  const gantry_device_id device = ops_.front().device;
  for (const Op& op : ops_) {
    gantry_device_id other = op.device;
    for (std::int32_t i = 0; i < op.arg_count; ++i) {
      const gantry_device_id of_argument =
          args_[op.first_arg + static_cast<std::uint32_t>(i)].tensor->device;
      if (!same_device(of_argument, device)) other = of_argument;
    }
    if (same_device(other, device)) continue;
    return unsupported("node ", op.node, " ", quoted(graph().nodes[op.node].name), " works on ",
                       number_text(other),
                       ", what is recorded must all be on one, and the first is on ",
                       number_text(device))
        .with_reason("CAPTURE");
  }
  GANTRY_TRY(auto recorder, Recorder::create(host(), device));
  replay_ = std::make_unique<Replay>(std::move(recorder));
  return {};
}

// The first run uses the stream that will be recorded, so that resources that operators allocate
// for a stream, such as workspaces, exist before the recording, which allows no allocation.
Status Executor::replay(const gantry_env& outer) {
  Replay& replay = *replay_;
  const Recorder& recorder = *replay.recorder;
  void* const stream = gantry_env_stream(&outer, recorder.device());
  const gantry_env within{recorder.device(), recorder.stream(), outer.task, outer.streams};
  const std::size_t all = graph().nodes.size();
  if (!replay.is_warm) {
    GANTRY_CHECK(recorder.wait(stream));
    GANTRY_CHECK(run_until(all, &within));
    GANTRY_CHECK(recorder.wait(recorder.stream()));
    replay.is_warm = true;
    return {};
  }
  if (!replay.is_of(memory_.moves())) {
    replay.recording = Recording();
    GANTRY_TRY(Capture capture, recorder.begin());
    GANTRY_CHECK(run_until(all, &within));
    GANTRY_TRY(replay.recording, capture.end());
    replay.moves = memory_.moves();
  }
  return replay.recording.launch(stream);
}

// Runs with a wait after each operator. A wait before the first one excludes earlier work from its
// time.
Status Executor::profile(const gantry_env* given,
                         const std::function<Status(const GraphNode&, std::int64_t)>& seen) {
  using Clock = std::chrono::steady_clock;
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
  const CallStreams streams(outer);
  for (const Op& op : ops_) {
    const gantry_env env = streams.on(op.device);
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
