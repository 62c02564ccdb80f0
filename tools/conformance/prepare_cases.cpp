// SPDX-License-Identifier: Apache-2.0
//
// Case 111: preparation of modules. What it does is seen by the works that the plugin announces.
#include "tools/conformance/cases.hpp"
#include "tools/conformance/golden_call.hpp"
#include "tools/conformance/plugin_call.hpp"

#include <gantry/abi_boundary.hpp>
#include <gantry/embed/task.hpp>
#include <gantry/quoted.hpp>

#include <algorithm>
#include <mutex>

namespace gantry::kit {
namespace {

// Texts of announced works, in their order.
class Works {
 public:
  void add(std::string_view text) {
    // the end of a work has no text
    if (text.empty()) return;
    const std::lock_guard lock(mutex_);
    texts_.emplace_back(text);
  }
  std::vector<std::string> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(texts_, {});
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> texts_;
};

CallOutcome prepare(const LoadedModule& module, const Device& device, const void* task) {
  const gantry_device_id id{device.type, 0};
  gantry_env env{};
  env.task = task;
  gantry_prepare what{};
  what.struct_size = sizeof what;
  what.device_count = 1;
  what.devices = &id;
  CallOutcome outcome;
  StatusBuffer status;
  outcome.code = status.call([&](gantry_status* failure) {
    const PluginCall record("prepare");
    return module.pair.table->prepare(module.pair.self, &env, &what, failure);
  });
  if (outcome.code != GANTRY_OK) outcome.error = status.error(outcome.code, "prepare");
  return outcome;
}

Status check_prepared(const Stage& stage, const Payload& payload, Works& works) {
  GANTRY_TRY(const auto device, stage.device_for(payload));
  GANTRY_CHECK(check_golden(stage, *device, payload));
  const PinnedBytes given = pinned(payload.bytes);
  GANTRY_TRY(const LoadedModule module, stage.load(payload, given.bytes->bytes(), given.pin.get()));
  const gantry_module_table& table = *module.pair.table;
  if (!GANTRY_HAS(&table, prepare) || table.prepare == nullptr)
    return skipped("the module has no prepare");

  // Other modules have announced theirs.
  (void)works.take();
  GANTRY_TRY(const Task task, Task::create());
  task.cancel();
  const CallOutcome cancelled = prepare(module, *device, task.env().task);
  if (cancelled.code != GANTRY_OK && cancelled.code != GANTRY_CANCELLED) {
    return bug("a cancelled prepare fails as ", name_of(cancelled.error.code), ": ",
               first_line(cancelled.error));
  }
  const CallOutcome prepared = prepare(module, *device, nullptr);
  if (prepared.code != GANTRY_OK) {
    return bug("prepare fails as ", name_of(prepared.error.code),
               ", although all calls succeed: ", first_line(prepared.error));
  }
  const std::vector<std::string> announced = works.take();
  GANTRY_CHECK(check_calls(stage, *device, module, payload));
  const CallOutcome again = prepare(module, *device, nullptr);
  if (again.code != GANTRY_OK) return bug("a second prepare fails: ", first_line(again.error));
  for (const std::string& text : works.take()) {
    if (std::ranges::find(announced, text) != announced.end())
      return bug("after prepare, a call announces ", quoted(text), " again");
  }
  return {};
}

// 111
Status prepares(Subject& subject) {
  Works works;
  const Observation observed{
      .works = [&](std::uint64_t, std::string_view text) { works.add(text); }};
  return for_each_payload(
      subject,
      [&](Stage& stage, const Payload& payload) { return check_prepared(stage, payload, works); },
      observed);
}

constexpr Case kPrepareCases[] = {
    {111, Level::D, Weight::must, "prepares",
     "prepare of a module succeeds or is CANCELLED; calls give their results after it and do none "
     "of its announced work again",
     "keep in the module what prepare compiles, and use it in calls", prepares},
};

}  // namespace

std::span<const Case> prepare_cases() { return kPrepareCases; }

}  // namespace gantry::kit
