// SPDX-License-Identifier: Apache-2.0
//
// Case 72: calls whose task is cancelled. The ABI has no deadlines: a host cancels a task when its
// deadline has passed.
#include "tools/conformance/cases.hpp"
#include "tools/conformance/golden_call.hpp"

#include <gantry/abi_boundary.hpp>
#include <gantry/embed/task.hpp>
#include <gantry/quoted.hpp>

#include <algorithm>
#include <chrono>
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

struct GoldenFunction {
  const Device& device;
  const gantry_function& function;
  const Payload& payload;
  const GoldenCall& call;
};

// Makes a call whose task is cancelled `wait` after its start; 0: before it.
//
// returns  the time from the cancellation to the end of the call
Result<Milliseconds> cancel_after(const GoldenFunction& golden, Milliseconds wait) {
  GANTRY_TRY(const auto arguments, CallArguments::make(golden.device, golden.call));
  GANTRY_TRY(const Task task, Task::create());
  Clock::time_point cancelled = Clock::now();
  CallOutcome outcome;
  const auto run = [&] {
    outcome =
        call_function(golden.device, golden.function, arguments->values, {.task = task.env().task});
  };
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
  if (outcome.code != GANTRY_OK && outcome.code != GANTRY_CANCELLED)
    return bug("a cancelled call fails as ", name_of(static_cast<Code>(outcome.code)),
               ", expected cancelled: ", first_line(outcome.error));
  return delay;
}

Status check_cancellation(const GoldenFunction& golden) {
  const auto check_golden_call = [&]() -> Status {
    GANTRY_TRY(const Task task, Task::create());
    return check_function(golden.device, golden.function, golden.payload, golden.call,
                          {.task = task.env().task});
  };
  const Clock::time_point begun = Clock::now();
  GANTRY_CHECK(check_golden_call());
  const bool is_long = Clock::now() - begun > kLongCall;
  for (const Milliseconds wait : {Milliseconds(0), kStart}) {
    if (wait.count() != 0 && !is_long) continue;
    Milliseconds best = Milliseconds::max();
    for (int k = 0; k < kAttempts && best > kMaxDelay; ++k) {
      GANTRY_TRY(const Milliseconds delay, cancel_after(golden, wait));
      best = std::min(best, delay);
    }
    if (best > kMaxDelay)
      return bug("a call ends ", static_cast<std::int64_t>(best.count()),
                 " ms after its task is cancelled, limit is ",
                 static_cast<std::int64_t>(kMaxDelay.count()), " ms");
  }
  Status after = check_golden_call();
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
      Status done = check_cancellation({*device, function.pair, payload, call});
      if (!done.ok()) return std::move(done).error().at("in function ", quoted(call.function));
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
};

}  // namespace

std::span<const Case> cancel_cases() { return kCancelCases; }

}  // namespace gantry::kit
