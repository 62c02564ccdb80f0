// SPDX-License-Identifier: Apache-2.0
//
// Tasks of the C API: cancellation, deadlines, and functions that are called during a run.
#include "tests/unit/embed/digits_run.hpp"

#include "core/engine/embed/instances.hpp"
#include "core/engine/embed/objects.hpp"

#include <chrono>
#include <thread>

namespace gantry {
namespace {

using test::done;
using test::embed;
using test::expect_error;
using test::expect_ok;

Result<ObjectRef> new_task(const gantry_task_options* options = nullptr) {
  gantry_object* made = nullptr;
  GANTRY_CHECK(
      done([&](gantry_status* status) { return embed().task_new(options, &made, status); }));
  return ObjectRef::adopt(made);
}

const CallTask& task_of(const ObjectRef& object) {
  return *static_cast<const CallTask*>(embed().task_handle(object.get()));
}

gantry_task_options deadline(std::int64_t ns) {
  gantry_task_options options{};
  options.struct_size = sizeof options;
  options.deadline_ns = ns;
  return options;
}

TEST(EmbedTask, IsCancelledOnceAndForAll) {
  const ObjectRef task = new_task().value();
  EXPECT_EQ(task.get()->kind, GANTRY_TASK);
  EXPECT_FALSE(task_of(task).cancelled());

  embed().task_cancel(task.get());

  EXPECT_TRUE(task_of(task).cancelled());
}

TEST(EmbedTask, EndsAtItsDeadline) {
  const gantry_task_options soon = deadline(20'000'000), later = deadline(INT64_MAX);
  const ObjectRef task = new_task(&soon).value(), patient = new_task(&later).value();
  EXPECT_FALSE(task_of(task).cancelled());

  std::this_thread::sleep_for(std::chrono::milliseconds(25));

  EXPECT_TRUE(task_of(task).cancelled());
  EXPECT_FALSE(task_of(patient).cancelled());
}

TEST(EmbedTask, RefusesANegativeDeadline) {
  const gantry_task_options options = deadline(-1);

  const auto task = new_task(&options);

  ASSERT_FALSE(task.ok());
  EXPECT_EQ(task.error().reason, "ARGUMENT_RANGE");
  EXPECT_EQ(task.error().message, "task_new: deadline_ns is -1, minimum is 0");
}

TEST(EmbedTask, RefusesFlagsAndNull) {
  gantry_task_options options = deadline(0);
  options.flags = 1;
  EXPECT_EQ(new_task(&options).error().reason, "FLAGS");
  expect_error(
      done([](gantry_status* status) { return embed().task_new(nullptr, nullptr, status); }),
      Code::invalid, "ARGUMENT_KIND", "task_new: task is NULL");
  EXPECT_EQ(embed().task_handle(nullptr), nullptr);
  embed().task_cancel(nullptr);
}

// Counts the calls of `poll`, and cancels at the second one.
struct Polls {
  int count = 0;
  gantry_task_options options() {
    gantry_task_options given = deadline(0);
    given.poll = [](void* self) -> std::int32_t { return ++static_cast<Polls*>(self)->count >= 2; };
    given.self = this;
    return given;
  }
};

void wait_for_poll() { std::this_thread::sleep_for(std::chrono::milliseconds(11)); }

TEST(EmbedTask, IsPolledOnTheThreadThatRunsEveryTenMilliseconds) {
  Polls polls;
  const gantry_task_options options = polls.options();
  const ObjectRef object = new_task(&options).value();
  const CallTask& task = task_of(object);
  const EmbeddedTask::Run run(static_cast<const EmbeddedTask*>(&task));
  EXPECT_FALSE(task.cancelled());
  EXPECT_EQ(polls.count, 0) << "before the first interval";

  wait_for_poll();
  EXPECT_FALSE(task.cancelled());
  EXPECT_FALSE(task.cancelled());
  EXPECT_EQ(polls.count, 1);
  wait_for_poll();
  std::thread([&] { EXPECT_FALSE(task.cancelled()) << "on another thread"; }).join();
  EXPECT_EQ(polls.count, 1);
  EXPECT_TRUE(task.cancelled());
  EXPECT_TRUE(task.cancelled());
  EXPECT_EQ(polls.count, 2);
}

TEST(EmbedTask, IsNotPolledOutsideOfARun) {
  Polls polls;
  const gantry_task_options options = polls.options();
  const ObjectRef task = new_task(&options).value();
  wait_for_poll();

  EXPECT_FALSE(task_of(task).cancelled());

  EXPECT_EQ(polls.count, 0);
}

class TaskOfARun : public test::EmbedRun {
 protected:
  Status run_in(const ObjectRef& task) {
    gantry_tensor row = image(0);
    const gantry_value input = tensor_ref_value(&row);
    gantry_run run = test::new_run();
    run.inputs = &input;
    run.input_count = 1;
    run.task = task.get();
    const Status ran = test::run(model, run);
    const Value owned = Value::adopt(run.result);
    return ran;
  }
};

TEST_F(TaskOfARun, ThatIsNotCancelledChangesNothing) {
  const gantry_task_options later = deadline(60'000'000'000);
  expect_ok(run_in(new_task().value()));
  expect_ok(run_in(new_task(&later).value()));
}

TEST_F(TaskOfARun, ThatIsCancelledRunsNothing) {
  const ObjectRef task = new_task().value();
  embed().task_cancel(task.get());

  expect_error(run_in(task), Code::cancelled, "CANCELLED", "the task is cancelled");
}

TEST_F(TaskOfARun, ThatIsLateReportsItsDeadline) {
  const gantry_task_options now = deadline(1);

  expect_error(run_in(new_task(&now).value()), Code::cancelled, "DEADLINE",
               "the deadline of the task has passed");
}

TEST_F(TaskOfARun, IsATask) {
  expect_error(run_in(model), Code::invalid, "ARGUMENT_KIND",
               "run: the object is of kind 97, expected a task");
}

// A run that waits for an executor ends with its task.
TEST_F(TaskOfARun, EndsTheWaitForAnExecutor) {
  ModelInstances instances(as_model(model.get())->model, 1);
  const gantry_task_options soon = deadline(30'000'000);
  const ObjectRef late = new_task(&soon).value(), task = new_task().value();
  ModelInstances::Use held(instances);
  ASSERT_TRUE(held.begin().ok());
  const auto waits = [&](const ObjectRef& given) {
    Status ended;
    std::thread([&] {
      ModelInstances::Use use(instances, static_cast<const EmbeddedTask*>(&task_of(given)));
      ended = use.begin();
    }).join();
    return ended;
  };

  const Status timed_out = waits(late);
  std::thread canceller([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    embed().task_cancel(task.get());
  });
  const Status cancelled = waits(task);
  canceller.join();

  expect_error(timed_out, Code::cancelled, "DEADLINE", "the deadline of the task has passed");
  expect_error(cancelled, Code::cancelled, "CANCELLED", "the task is cancelled");
}

}  // namespace
}  // namespace gantry
