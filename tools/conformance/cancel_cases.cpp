// SPDX-License-Identifier: Apache-2.0
//
// Cases 72 and 121: calls, and runs of models, whose task is cancelled. The ABI has no deadlines: a
// host cancels a task when its deadline has passed.
#include "tools/conformance/cases.hpp"
#include "tools/conformance/golden_call.hpp"
#include "tools/conformance/model_run.hpp"

#include <gantry/abi_boundary.hpp>
#include <gantry/embed/task.hpp>
#include <gantry/quoted.hpp>

#include <algorithm>
#include <chrono>
#include <functional>
#include <string_view>
#include <thread>

namespace gantry::kit {
namespace {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::duration<double, std::milli>;

constexpr Milliseconds kMaxDelay{100};
// A call that takes longer is also cancelled while it runs.
constexpr Milliseconds kLongCall{200};
constexpr Milliseconds kStart{50};
// The system may delay a thread; the fastest of these counts.
constexpr int kAttempts = 3;

// A golden call or run that can be made again and again.
struct Work {
  // "call" or "run"
  std::string_view name;
  // Makes it once; the result is not compared.
  std::function<Status(const void* task)> make;
  // Makes it and compares its result.
  std::function<Status(const void* task)> check;
};

// Makes a call whose task is cancelled `wait` after its start; 0: before it.
//
// returns  the time from the cancellation to the end of the call
Result<Milliseconds> cancel_after(const Work& work, Milliseconds wait) {
  GANTRY_TRY(const Task task, Task::create());
  Clock::time_point cancelled = Clock::now();
  Status done;
  const auto run = [&] { done = work.make(task.env().task); };
  if (wait.count() == 0) {
    task.cancel();
    run();
  } else {
    std::thread calling(run);
    std::this_thread::sleep_for(wait);
    cancelled = Clock::now();
    task.cancel();
    calling.join();
  }
  const Milliseconds delay = Clock::now() - cancelled;
  if (!done.ok() && done.error().code != Code::cancelled) {
    return bug("a cancelled ", work.name, " fails as ", name_of(done.error().code),
               ", expected cancelled: ", first_line(done.error()));
  }
  return delay;
}

Status check_cancellation(const Work& work) {
  const auto check = [&]() -> Status {
    GANTRY_TRY(const Task task, Task::create());
    return work.check(task.env().task);
  };
  const Clock::time_point begun = Clock::now();
  GANTRY_CHECK(check());
  const bool is_long = Clock::now() - begun > kLongCall;
  for (const Milliseconds wait : {Milliseconds(0), kStart}) {
    if (wait.count() != 0 && !is_long) continue;
    Milliseconds best = Milliseconds::max();
    for (int k = 0; k < kAttempts && best > kMaxDelay; ++k) {
      GANTRY_TRY(const Milliseconds delay, cancel_after(work, wait));
      best = std::min(best, delay);
    }
    if (best > kMaxDelay)
      return bug("a ", work.name, " ends ", static_cast<std::int64_t>(best.count()),
                 " ms after its task is cancelled, limit is ",
                 static_cast<std::int64_t>(kMaxDelay.count()), " ms");
  }
  Status after = check();
  if (!after.ok()) return std::move(after).error().at("with another task, after a cancelled one");
  return {};
}

// 72
Status stops_when_cancelled(Subject& subject) {
  return for_each_payload(subject, [](Stage& stage, const Payload& payload) -> Status {
    if (payload.calls.empty()) return skipped("the payload has no calls");
    GANTRY_TRY(const auto device, stage.device_for(payload));
    GANTRY_CHECK(check_golden(stage, *device, payload));
    const PinnedBytes given = pinned(payload.bytes);
    GANTRY_TRY(const LoadedModule module,
               stage.load(payload, given.bytes->bytes(), given.pin.get()));
    for (const GoldenCall& call : payload.calls) {
      GANTRY_TRY(const LoadedFunction function, stage.function(module, call.function));
      const auto make = [&](const void* task) -> Status {
        GANTRY_TRY(const auto arguments, CallArguments::make(*device, call));
        CallOutcome outcome = call_function(*device, function.pair, arguments->values,
                                            {.task = task, .name = call.function});
        if (outcome.code == GANTRY_OK) return {};
        return std::move(outcome.error);
      };
      const auto check = [&](const void* task) {
        return check_function(*device, function.pair, payload, call, {.task = task});
      };
      Status done = check_cancellation({"call", make, check});
      if (!done.ok()) return std::move(done).error().at("in function ", quoted(call.function));
    }
    return {};
  });
}

// 121
Status runs_stop_when_cancelled(Subject& subject) {
  return for_each_payload(subject, [](Stage& stage, const Payload& payload) -> Status {
    if (payload.runs.empty()) return skipped("the payload has no runs");
    GANTRY_TRY(const auto device, stage.device_for(payload));
    const PinnedBytes given = pinned(payload.bytes);
    GANTRY_TRY(const LoadedModule module,
               stage.load(payload, given.bytes->bytes(), given.pin.get()));
    GANTRY_TRY(const TestedModel model,
               TestedModel::of(stage.state(), module.pair, {device->type, 0}));
    const auto executor = model.executor();
    if (!executor.ok() || !check_runs(**executor, payload).ok())
      return not_run("the golden runs fail, see case 118");
    for (const GoldenRun& golden : payload.runs) {
      const auto make = [&](const void* task) -> Status {
        GANTRY_TRY(const auto run, ModelRun::make(**executor, golden));
        Status ran = run->run(task);
        if (!ran.ok()) GANTRY_CHECK(run->check_untouched());
        return ran;
      };
      const auto check = [&](const void* task) {
        return check_run(**executor, payload, golden, {}, task);
      };
      GANTRY_CHECK(check_cancellation({"run", make, check}));
    }
    return {};
  });
}

constexpr Case kCancelCases[] = {
    {72, Level::D, Weight::should, "stops-when-cancelled",
     "a call ends with its result or as CANCELLED within 100 ms after its task is cancelled; later "
     "calls are not affected",
     "call host->is_cancelled(env) between parts of the work, and return CANCELLED",
     stops_when_cancelled},
    {121, Level::D, Weight::should, "stops-runs-when-cancelled",
     "a run of a model ends with its outputs or as CANCELLED within 100 ms after its task is "
     "cancelled; later runs are not affected",
     "call host->is_cancelled(env) between parts of the work, and return CANCELLED",
     runs_stop_when_cancelled},
};

}  // namespace

std::span<const Case> cancel_cases() { return kCancelCases; }

}  // namespace gantry::kit
