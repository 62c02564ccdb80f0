// SPDX-License-Identifier: Apache-2.0
//
// gantry/embed/task.hpp - a group of runs and calls that are cancelled together.
#pragma once

#include <gantry/function.h>
#include <gantry/embed/object.hpp>
#include <gantry/embed/table.hpp>

#include <chrono>
#include <utility>

namespace gantry {
inline namespace embed_api {

class Task : public Object {
 public:
  Task() = default;

  // deadline [in]   from now on; 0: none. Runs fail with reason DEADLINE then
  // returns  INVALID  the deadline is negative (ARGUMENT_RANGE)
  static Result<Task> create(std::chrono::nanoseconds deadline = {}) {
    gantry_task_options options{};
    options.struct_size = sizeof options;
    options.deadline_ns = deadline.count();
    GANTRY_TRY(ObjectRef made, embed_detail::made_object(
                                   "task_new", [&](gantry_object** out, gantry_status* status) {
                                     return embed_table().task_new(&options, out, status);
                                   }));
    return Task(std::move(made));
  }

  // Cancels the runs and calls of the task, once and for all.
  //
  // thread   any; also in a signal handler
  void cancel() const { embed_table().task_cancel(get()); }
  // Returns the environment of a call. The task must outlive the call.
  gantry_env env(gantry_device_id device = {1, 0}) const {
    return {device, nullptr, embed_table().task_handle(get()), nullptr};
  }

 private:
  explicit Task(ObjectRef object) : Object(std::move(object)) {}
};

}  // namespace embed_api
}  // namespace gantry
