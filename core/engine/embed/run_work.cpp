// SPDX-License-Identifier: Apache-2.0
#include "core/engine/embed/run_work.hpp"

#include "core/engine/embed/stream_waiter.hpp"
#include "core/engine/tensor/device_set.hpp"

#include <algorithm>
#include <utility>

namespace gantry {
namespace {

// Between two looks at the task.
constexpr std::int64_t interval_ns = 10'000'000;

}  // namespace

Result<std::unique_ptr<RunWork>> RunWork::begin(const RuntimeState& runtime,
                                                std::span<const gantry_device_id> devices,
                                                const gantry_env& env) {
  std::unique_ptr<RunWork> work(new RunWork);
  for (const gantry_device_id id : devices) {
    if (id.type == kCpu) continue;
    GANTRY_TRY(std::shared_ptr<const Device> device, runtime.devices.get(id.type));
    Part part{std::move(device), id.index, gantry_env_stream(&env, id), nullptr};
    if (part.device->table->event_reached != nullptr) {
      GANTRY_TRY(part.event, recorded_event(*part.device, part.index, part.stream));
    }
    work->parts_.push_back(std::move(part));
  }
  return work;
}

void RunWork::finish(const RuntimeState& runtime, std::span<const gantry_device_id> devices,
                     const gantry_env& env) {
  for (const gantry_device_id id : devices) {
    if (id.type == kCpu) continue;
    const auto device = runtime.devices.get(id.type);
    if (device.ok() && may_call(**device))
      (void)synchronize({*device, id.index, gantry_env_stream(&env, id), nullptr});
  }
}

RunWork::~RunWork() {
  for (const Part& part : parts_) {
    if (may_call(*part.device)) (void)synchronize(part);
    destroy_event(part);
  }
}

void RunWork::destroy_event(const Part& part) {
  if (part.event != nullptr && may_call(*part.device))
    part.device->table->event_destroy(part.device->self, part.index, part.event);
}

Result<bool> RunWork::is_reached(const Part& part, std::int64_t timeout_ns) {
  std::int32_t reached = 0;
  GANTRY_CHECK(call_table(*part.device, part.index, "event_reached", [&](gantry_status* out) {
    return part.device->table->event_reached(part.device->self, part.index, part.event, timeout_ns,
                                             &reached, out);
  }));
  return reached != 0;
}

Status RunWork::synchronize(const Part& part) {
  return call_table(*part.device, part.index, "synchronize", [&](gantry_status* out) {
    return part.device->table->synchronize(part.device->self, part.index, part.stream, out);
  });
}

Status RunWork::wait(const EmbeddedTask* task) {
  while (!parts_.empty()) {
    const Part& part = parts_.back();
    for (bool is_done = part.event == nullptr; !is_done;) {
      GANTRY_CHECK(check_not_cancelled(task));
      GANTRY_TRY(is_done, is_reached(part, task != nullptr ? interval_ns : GANTRY_NO_TIMEOUT));
    }
    // Reports failures of the work.
    Status done = synchronize(part);
    destroy_event(part);
    parts_.pop_back();
    GANTRY_CHECK(std::move(done));
  }
  return {};
}

bool RunWork::has_ended() {
  return std::ranges::all_of(parts_, [](const Part& part) {
    if (part.event == nullptr) return false;
    const auto reached = is_reached(part, 0);
    return !reached.ok() || *reached;
  });
}

void UnfinishedWork::add(std::unique_ptr<RunWork> work) {
  const std::lock_guard lock(mutex_);
  all_.push_back(std::move(work));
}

void UnfinishedWork::release_ended() {
  std::vector<std::unique_ptr<RunWork>> ended;
  const std::lock_guard lock(mutex_);
  for (std::unique_ptr<RunWork>& work : all_) {
    if (work->has_ended()) ended.push_back(std::move(work));
  }
  std::erase(all_, nullptr);
}

}  // namespace gantry
