// SPDX-License-Identifier: Apache-2.0
#include "replay.hpp"

#include "executor.hpp"

#include <gantry/quoted.hpp>

#include <utility>

namespace gantry::graph {

template <class Make>
Status Replay::call(std::string_view name, Make&& make) const {
  StatusBuffer status;
  const gantry_code code = make(*device_.table, status.get());
  if (code == GANTRY_OK) return {};
  return status.error(code, concat(name, " of device ", device_.id.type, ":", device_.id.index));
}

Result<std::unique_ptr<Replay>> Replay::create(const Host& host, gantry_device_id device) {
  gantry_device found{};
  StatusBuffer status;
  const gantry_code code = host.table()->device_get(host.table(), device, &found, status.get());
  if (code != GANTRY_OK) return status.error(code, "host function device_get");
  std::unique_ptr<Replay> replay(new Replay(found));
  GANTRY_CHECK(replay->call("stream_create", [&](const auto& table, gantry_status* call_status) {
    return table.stream_create(found.self, device.index, 0, &replay->stream_, call_status);
  }));
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
  return call("capture_begin", [&](const auto& table, gantry_status* call_status) {
    return table.capture_begin(device_.self, device_.id.index, stream_, call_status);
  });
}

Status Replay::end(std::uint64_t moves) {
  moves_ = moves;
  return call("capture_end", [&](const auto& table, gantry_status* call_status) {
    return table.capture_end(device_.self, device_.id.index, stream_, &graph_, call_status);
  });
}

void Replay::abandon() {
  // The capture may already have ended; the error that spoilt it has been reported.
  (void)end(0);
  forget();
}

Status Replay::launch(void* stream) {
  return call("capture_launch", [&](const auto& table, gantry_status* call_status) {
    return table.capture_launch(device_.self, device_.id.index, graph_, stream, call_status);
  });
}

Status Replay::wait(void* stream) const {
  return call("synchronize", [&](const auto& table, gantry_status* call_status) {
    return table.synchronize(device_.self, device_.id.index, stream, call_status);
  });
}

Status Executor::capture_runs() {
  if (ops_.empty()) return unsupported("there is no operator to record").with_reason("CAPTURE");
  const gantry_device_id device = ops_.front().device;
  const auto text = [](gantry_device_id id) { return concat("device ", id.type, ":", id.index); };
  for (const Op& op : ops_) {
    gantry_device_id other = op.device;
    for (std::int32_t i = 0; i < op.arg_count; ++i) {
      const gantry_device_id of_argument =
          args_[op.first_arg + static_cast<std::uint32_t>(i)].tensor->device;
      if (of_argument.type != device.type || of_argument.index != device.index) other = of_argument;
    }
    if (other.type == device.type && other.index == device.index) continue;
    return unsupported("node ", op.node, " ", quoted(graph().nodes[op.node].name), " works on ",
                       text(other), ", what is recorded must all be on one, and the first is on ",
                       text(device))
        .with_reason("CAPTURE");
  }
  GANTRY_TRY(replay_, Replay::create(host(), device));
  return {};
}

// The first run uses the stream that will be recorded, so that resources that operators allocate
// for a stream, such as workspaces, exist before the recording, which allows no allocation.
gantry_code Executor::replay(const gantry_env& outer, gantry_status* status) {
  return abi_boundary(status, [&]() -> gantry_code {
    Replay& replay = *replay_;
    const gantry_device_id device = replay.device();
    const bool same = device.type == outer.device.type && device.index == outer.device.index;
    void* const stream = same ? outer.stream : nullptr;
    const gantry_env within{device, replay.stream(), outer.task};
    const std::size_t all = graph().nodes.size();
    Status done;
    if (!replay.is_warm) {
      done = replay.wait(stream);
      if (!done.ok()) return to_status(done.error(), status);
      if (const gantry_code code = run_until(all, &within, status)) return code;
      done = replay.wait(replay.stream());
      replay.is_warm = done.ok();
      return done.ok() ? GANTRY_OK : to_status(done.error(), status);
    }
    if (!replay.is_of(memory_.moves())) {
      done = replay.begin();
      if (!done.ok()) return to_status(done.error(), status);
      if (const gantry_code code = run_until(all, &within, status)) {
        replay.abandon();
        return code;
      }
      done = replay.end(memory_.moves());
      if (!done.ok()) return to_status(done.error(), status);
    }
    done = replay.launch(stream);
    return done.ok() ? GANTRY_OK : to_status(done.error(), status);
  });
}

}  // namespace gantry::graph
