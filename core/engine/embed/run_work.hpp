// SPDX-License-Identifier: Apache-2.0
//
// The work of a run that is still in streams of its devices, and what it uses.
//
//     run -> RunWork::begin() -> wait(task)     the work has ended: released
//                             -> cancelled      UnfinishedWork keeps it until the work ends
#pragma once

#include "core/engine/embed/task.hpp"
#include "core/engine/runtime/state.hpp"
#include "core/engine/tensor/object.hpp"

#include <gantry/function.h>
#include <gantry/result.hpp>

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace gantry {

// thread   one at a time
class RunWork {
 public:
  // Marks the place of the work in the streams of its devices.
  //
  // devices  [in]   of the model; the CPU has no work
  // env      [in]   of the run
  // returns  an error of a device
  static Result<std::unique_ptr<RunWork>> begin(const RuntimeState& runtime,
                                                std::span<const gantry_device_id> devices,
                                                const gantry_env& env);
  // Waits for the rest of the work, and releases what it uses.
  ~RunWork();
  RunWork(const RunWork&) = delete;
  RunWork& operator=(const RunWork&) = delete;

  // Waits for all work in the streams of devices. Its failures belong to the next call.
  static void finish(const RuntimeState& runtime, std::span<const gantry_device_id> devices,
                     const gantry_env& env);
  // Keeps a value as long as this object.
  void keep(Value value) { kept_.push_back(std::move(value)); }
  // Waits until the work ends.
  //
  // returns  cancelled: the task is, and the work goes on; a failure of the work
  Status wait(const EmbeddedTask* task);
  // True if the work has ended, or is lost.
  bool has_ended();

 private:
  struct Part {
    std::shared_ptr<const Device> device;
    std::int32_t index = 0;
    void* stream = nullptr;
    // NULL: the device has no events that can be asked
    void* event = nullptr;
  };
  RunWork() = default;
  // timeout_ns [in] see gantry_device_table.event_reached
  static Result<bool> is_reached(const Part& part, std::int64_t timeout_ns);
  static Status synchronize(const Part& part);
  static void destroy_event(const Part& part);

  std::vector<Part> parts_;
  std::vector<Value> kept_;
};

// Work for which nobody waits any more.
//
// thread   any
class UnfinishedWork {
 public:
  void add(std::unique_ptr<RunWork> work);
  // Releases what has ended.
  void release_ended();

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<RunWork>> all_;
};

}  // namespace gantry
