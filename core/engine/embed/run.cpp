// SPDX-License-Identifier: Apache-2.0
#include "core/engine/embed/run.hpp"

#include "core/engine/embed/arguments.hpp"
#include "core/engine/embed/run_inputs.hpp"
#include "core/engine/embed/run_outputs.hpp"
#include "core/engine/embed/stream.hpp"
#include "core/engine/embed/task.hpp"
#include "core/engine/runtime/state.hpp"

#include <gantry/kind_text.hpp>
#include <gantry/value.hpp>

#include <optional>

namespace gantry {
namespace {

// Releases what a function keeps of a run, in every outcome.
class Forgetting {
 public:
  explicit Forgetting(FunctionState& function) : function_(function) {}
  ~Forgetting() { function_.forget(); }
  Forgetting(const Forgetting&) = delete;
  Forgetting& operator=(const Forgetting&) = delete;

 private:
  FunctionState& function_;
};

// The task and the stream of a run.
struct RunContext {
  const EmbeddedTask* task = nullptr;
  Ref<StreamObject> stream;
  // nullopt: neither is given
  std::optional<gantry_env> env;

  static Result<RunContext> of(const gantry_run& run, const RuntimeState& runtime) {
    RunContext context;
    if (run.task != nullptr) {
      GANTRY_TRY(const TaskObject* task, task_argument(run.task, "run"));
      context.task = &task->task;
    }
    if (run.stream != nullptr) {
      GANTRY_TRY(StreamObject * stream, stream_argument(run.stream, runtime, "run"));
      context.stream = Ref<StreamObject>::share(stream);
    }
    if (context.task == nullptr && !context.stream) return context;
    context.env = gantry_env{{kCpu, 0}, nullptr, static_cast<const CallTask*>(context.task)};
    if (context.stream) {
      context.env->device = context.stream->device;
      context.env->stream = context.stream->handle;
    }
    return context;
  }
  const gantry_env* env_or_null() const { return env ? &*env : nullptr; }
};

// A run that fails because its deadline has passed reports that.
Status with_deadline(Status ran, const EmbeddedTask* task) {
  if (ran.ok() || ran.error().code != Code::cancelled || task == nullptr || !task->is_late())
    return ran;
  return std::move(ran).failure().with_reason("DEADLINE").at("the deadline of the task has passed");
}

}  // namespace

Status run_model(ModelObject& model, gantry_run& run) {
  GANTRY_CHECK(check_flags(run.flags, GANTRY_RUN_NO_COPY, "gantry_run"));
  if (run.outputs == nullptr && run.result.kind != GANTRY_NONE) {
    return invalid("run: result is ", kind_text(run.result.kind), " on entry, expected none")
        .with_reason("ARGUMENT_KIND");
  }
  RuntimeState& runtime = *model.runtime;
  GANTRY_TRY(const RunContext context, RunContext::of(run, runtime));
  const EmbeddedTask::Run running(context.task);
  GANTRY_CHECK(check_not_cancelled(context.task));
  ModelInstances::Use use(model.instances, context.task);
  GANTRY_CHECK(use.begin());
  GANTRY_CHECK(check_text(run.function, "run", "function"));
  GANTRY_TRY(FunctionState* const function, use->function(view_of(run.function)));
  InputCopies copies{.are_allowed = (run.flags & GANTRY_RUN_NO_COPY) == 0};
  GANTRY_TRY(const OrderedInputs inputs,
             ordered_inputs(*function, run, runtime, context.env_or_null(), copies));
  GANTRY_CHECK(use->follow(runtime, context.stream));
  const Forgetting forgetting(*function);
  GANTRY_CHECK(
      with_deadline(function->call(inputs.values, context.env_or_null(), copies), context.task));
  GANTRY_CHECK(pass_outputs(runtime, *function, inputs.values, context.env_or_null(), run));
  run.copied_bytes = copies.bytes;
  return {};
}

}  // namespace gantry
