// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/runtime/call_task.hpp"
#include "core/engine/tensor/object.hpp"

#include <gantry/embed.h>
#include <gantry/result.hpp>

#include <atomic>
#include <cstdint>

namespace gantry {

// A task with a deadline, and a function that is called while a run is in progress.
class EmbeddedTask final : public CallTask {
 public:
  // options  [in]   checked
  explicit EmbeddedTask(const gantry_task_options& options);

  // True once cancelled() has found that the deadline has passed.
  bool is_late() const { return late_.load(std::memory_order_relaxed); }

  // The time in which this thread runs a function with a task: it calls the task's `poll`.
  class Run {
   public:
    // task     [in]   NULL: none
    explicit Run(const EmbeddedTask* task);
    ~Run();
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;

   private:
    const EmbeddedTask* outer_;
  };

 private:
  static bool is_over(const CallTask& task);
  bool poll(std::int64_t now) const;

  // nanoseconds of the monotonic clock; INT64_MAX: none
  std::int64_t deadline_;
  std::int32_t (*poll_)(void* self);
  void* self_;
  mutable std::atomic<std::int64_t> next_poll_;
  mutable std::atomic<bool> late_{false};
  mutable std::atomic<bool> polled_{false};
};

// GANTRY_TASK
struct TaskObject {
  gantry_object header;
  EmbeddedTask task;
};

// See gantry_embed::task_new.
Result<Ref<TaskObject>> new_task(const gantry_task_options* given);

// Returns NULL for an object of another kind, and for NULL.
TaskObject* as_task(gantry_object* object);

// returns  OK; cancelled, reason CANCELLED or DEADLINE
Status check_not_cancelled(const EmbeddedTask* task);

}  // namespace gantry
