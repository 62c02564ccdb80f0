// SPDX-License-Identifier: Apache-2.0
#include "core/engine/embed/task.hpp"

#include "core/engine/embed/arguments.hpp"

#include <chrono>
#include <new>
#include <utility>

namespace gantry {
namespace {

constexpr std::int64_t poll_interval_ns = 10'000'000;

thread_local constinit const EmbeddedTask* running_here = nullptr;

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

std::int64_t deadline_in(std::int64_t ns) {
  std::int64_t deadline = 0;
  if (ns == 0 || __builtin_add_overflow(now_ns(), ns, &deadline)) return INT64_MAX;
  return deadline;
}

}  // namespace

EmbeddedTask::EmbeddedTask(const gantry_task_options& options)
    : CallTask(options.deadline_ns != 0 || options.poll != nullptr ? is_over : nullptr),
      deadline_(deadline_in(options.deadline_ns)),
      poll_(options.poll),
      self_(options.self),
      next_poll_(options.poll != nullptr ? now_ns() + poll_interval_ns : INT64_MAX) {}

bool EmbeddedTask::is_over(const CallTask& base) {
  const auto& task = static_cast<const EmbeddedTask&>(base);
  const std::int64_t now = now_ns();
  if (now >= task.deadline_) {
    task.late_.store(true, std::memory_order_relaxed);
    return true;
  }
  return task.polled_.load(std::memory_order_relaxed) || task.poll(now);
}

bool EmbeddedTask::poll(std::int64_t now) const {
  if (running_here != this || now < next_poll_.load(std::memory_order_relaxed)) return false;
  const bool cancels = poll_(self_) != 0;
  next_poll_.store(now_ns() + poll_interval_ns, std::memory_order_relaxed);
  if (cancels) polled_.store(true, std::memory_order_relaxed);
  return cancels;
}

EmbeddedTask::Run::Run(const EmbeddedTask* task) : outer_(std::exchange(running_here, task)) {}
EmbeddedTask::Run::~Run() { running_here = outer_; }

Result<Ref<TaskObject>> new_task(const gantry_task_options* given) {
  GANTRY_TRY(const gantry_task_options options, read_options(given, 0, "gantry_task_options"));
  if (options.deadline_ns < 0) {
    return invalid("task_new: deadline_ns is ", options.deadline_ns, ", minimum is 0")
        .with_reason("ARGUMENT_RANGE");
  }
  auto* const object = new (std::nothrow) TaskObject{{}, EmbeddedTask(options)};
  if (object == nullptr) return exhausted("no memory for a task");
  object->header = fresh_header(GANTRY_TASK, delete_object<TaskObject>);
  return Ref<TaskObject>::adopt(object);
}

TaskObject* as_task(gantry_object* object) {
  void (*const deleter)(void*, std::int32_t) = delete_object<TaskObject>;
  return object != nullptr && object->deleter == deleter ? reinterpret_cast<TaskObject*>(object)
                                                         : nullptr;
}

Status check_not_cancelled(const EmbeddedTask* task) {
  if (task == nullptr || !task->cancelled()) return {};
  if (task->is_late())
    return cancelled("the deadline of the task has passed").with_reason("DEADLINE");
  return cancelled("the task is cancelled").with_reason("CANCELLED");
}

}  // namespace gantry
