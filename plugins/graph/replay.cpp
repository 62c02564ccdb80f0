// SPDX-License-Identifier: Apache-2.0
#include "replay.hpp"

#include "executor.hpp"

#include <gantry/quoted.hpp>

#include <utility>

namespace gantry::graph {

template <class Function, class... Arguments>
Status Replay::call(std::string_view name, Function gantry_device_table::*function,
                    Arguments... arguments) const {
  StatusBuffer status;
  const gantry_code code =
      (device_.table->*function)(device_.self, device_.id.index, arguments..., status.get());
  if (code == GANTRY_OK) return {};
  return status.error(code, concat(name, " of ", number_text(device_.id)));
}

Result<std::unique_ptr<Replay>> Replay::create(const Host& host, gantry_device_id device) {
  GANTRY_TRY(const gantry_device found, host.device(device));
  std::unique_ptr<Replay> replay(new Replay(found));
  GANTRY_CHECK(
      replay->call("stream_create", &gantry_device_table::stream_create, 0u, &replay->stream_));
  GANTRY_CHECK(replay->begin());
  GANTRY_CHECK(replay->end(0));
  replay->forget();
  return replay;
}

Replay::~Replay() {
  forget();
  if (stream_ != nullptr) device_.table->stream_destroy(device_.self, device_.id.index, stream_);
}

// A recording may be destroyed while it runs, like memory.
void Replay::forget() {
  if (graph_ == nullptr) return;
  device_.table->capture_destroy(device_.self, device_.id.index, std::exchange(graph_, nullptr));
}

Status Replay::begin() {
  forget();
  return call("capture_begin", &gantry_device_table::capture_begin, stream_);
}

Status Replay::end(std::uint64_t moves) {
  moves_ = moves;
  return call("capture_end", &gantry_device_table::capture_end, stream_, &graph_);
}

void Replay::abandon() {
  // The capture may already have ended; the error that spoilt it has been reported.
  (void)end(0);
  forget();
}

Status Replay::launch(void* stream) {
  return call("capture_launch", &gantry_device_table::capture_launch, graph_, stream);
}

Status Replay::wait(void* stream) const {
  return call("synchronize", &gantry_device_table::synchronize, stream);
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
  GANTRY_TRY(replay_, Replay::create(host(), device));
  return {};
}

// The first run uses the stream that will be recorded, so that resources that operators allocate
// for a stream, such as workspaces, exist before the recording, which allows no allocation.
Status Executor::replay(const gantry_env& outer) {
  Replay& replay = *replay_;
  const gantry_device_id device = replay.device();
  void* const stream = same_device(device, outer.device) ? outer.stream : nullptr;
  const gantry_env within{device, replay.stream(), outer.task};
  const std::size_t all = graph().nodes.size();
  if (!replay.is_warm) {
    GANTRY_CHECK(replay.wait(stream));
    GANTRY_CHECK(run_until(all, &within));
    GANTRY_CHECK(replay.wait(replay.stream()));
    replay.is_warm = true;
    return {};
  }
  if (!replay.is_of(memory_.moves())) {
    GANTRY_CHECK(replay.begin());
    Status recorded = run_until(all, &within);
    if (!recorded.ok()) {
      replay.abandon();
      return recorded;
    }
    GANTRY_CHECK(replay.end(memory_.moves()));
  }
  return replay.launch(stream);
}

}  // namespace gantry::graph
