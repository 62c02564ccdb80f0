// SPDX-License-Identifier: Apache-2.0
#include "replay.hpp"

#include "executor.hpp"

#include <gantry/quoted.hpp>

#include <utility>

namespace gantry::graph {

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
  void* const stream = same_device(recorder.device(), outer.device) ? outer.stream : nullptr;
  const gantry_env within{recorder.device(), recorder.stream(), outer.task};
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

}  // namespace gantry::graph
