// SPDX-License-Identifier: Apache-2.0
//
// Cases 69 and 70: functions and results whose module has no other user.
#include "tools/conformance/cases.hpp"
#include "tools/conformance/golden_call.hpp"
#include "tools/conformance/process_counts.hpp"

#include "core/engine/module/module_graph.hpp"

#include <gantry/abi_boundary.hpp>

#include <algorithm>
#include <optional>
#include <thread>

namespace gantry::kit {
namespace {

// The allocator keeps the first blocks of each size that are freed.
constexpr int kFirstRounds = 32;
constexpr int kRounds = 16;

// Loads a payload as the core does and returns one function for each golden call, the only users of
// the module.
Result<std::vector<Ref<FunctionObject>>> functions_of(Stage& stage, const Payload& payload,
                                                      const PinnedBytes& given) {
  GANTRY_TRY(LoadedModule module, stage.load_once(payload, given.bytes->bytes(), given.pin.get()));
  // A table of an older SDK is shorter.
  GANTRY_TRY(const gantry_module_table* const table,
             stage.state().tables.get(module.pair.table, "load_binary"));
  GANTRY_CHECK(bind(*module.node, {module.pair.self, table}, stage.plugin().id));
  module.pair = {};
  std::vector<Ref<FunctionObject>> functions;
  for (const GoldenCall& call : payload.calls) {
    GANTRY_TRY(Ref<FunctionObject> found,
               find_function(*module.node, GANTRY_FIND_SELF, call.function));
    functions.push_back(std::move(found));
  }
  return functions;
}

Status check_functions_alone(Subject& subject, const Payload& payload) {
  const PinnedBytes given = pinned(payload.bytes);
  std::shared_ptr<const Device> device;
  std::vector<Ref<FunctionObject>> functions;
  {
    GANTRY_TRY(const auto stage, Stage::open(subject));
    GANTRY_TRY(device, stage->device_for(payload));
    GANTRY_CHECK(check_golden(*stage, *device, payload));
    GANTRY_TRY(functions, functions_of(*stage, payload, given));
  }
  for (std::size_t i = 0; i < functions.size(); ++i)
    GANTRY_CHECK(check_function(*device, functions[i]->target, payload, payload.calls[i]));
  device.reset();
  // Destroys the functions, the module and the plugin.
  std::thread([&] { functions.clear(); }).join();
  return {};
}

// 69
Status functions_outlive_handles(Subject& subject) {
  GANTRY_TRY(const std::vector<Payload>* const payloads, subject.needed_payloads());
  bool any = false;
  for (const Payload& payload : *payloads) {
    if (payload.calls.empty()) continue;
    any = true;
    Status done = check_functions_alone(subject, payload);
    if (!done.ok()) return std::move(done).error().at("of ", payload.name);
  }
  return any ? Status() : skipped("no payload has calls");
}

bool returns_a_tensor(const GoldenCall& call) {
  return call.result && (call.result->kind == GoldenValue::Kind::tensor ||
                         call.result->kind == GoldenValue::Kind::buffer);
}

Result<Value> result_of(const Device& device, const gantry_function& function,
                        const GoldenCall& call) {
  GANTRY_TRY(const auto arguments, CallArguments::make(device, call));
  CallOutcome outcome = call_function(device, function, arguments->values, {.name = call.function});
  if (outcome.code != GANTRY_OK) return outcome.error;
  return std::move(outcome.result);
}

// Makes a call and compares its result when function, module and payload are released.
Status check_result_alone(Stage& stage, const Device& device, const Payload& payload,
                          const GoldenCall& call) {
  Value result;
  {
    const PinnedBytes given = pinned(payload.bytes);
    GANTRY_TRY(const LoadedModule module,
               stage.load(payload, given.bytes->bytes(), given.pin.get()));
    GANTRY_TRY(const LoadedFunction function, stage.function(module, call.function));
    GANTRY_TRY(result, result_of(device, function.pair, call));
  }
  return compare_result(device, result.get(), *call.result, payload.tolerance);
}

// Bytes that the device has allocated; on the host, those of the heap. nullopt: not counted.
std::optional<std::uint64_t> allocated_bytes(const Device& device) {
  if (device.type == kCpu) return process_counts().heap_bytes;
  gantry_value value{};
  const gantry_code code =
      device.table->attribute(device.self, 0, GANTRY_ATTRIBUTE_ALLOCATED_BYTES, &value, nullptr);
  const Value owned = Value::adopt(value);
  if (code != GANTRY_OK || value.kind != GANTRY_INT) return std::nullopt;
  return static_cast<std::uint64_t>(value.i);
}

Status check_result_memory(const Device& device, const gantry_function& function,
                           const GoldenCall& call) {
  std::optional<std::uint64_t> before, after;
  for (int k = 0; k < kFirstRounds + kRounds; ++k) {
    GANTRY_CHECK(result_of(device, function, call));
    // Counting allocates, too.
    after = allocated_bytes(device);
    if (k < kFirstRounds) before = after;
  }
  if (!before || !after || *after <= *before + kRounds * 16) return {};
  return bug(kRounds, " released results of function ", quoted(call.function), " leave ",
             *after - *before, " bytes allocated");
}

// 70
Status results_outlive_their_module(Subject& subject) {
  return for_each_payload(subject, [](Stage& stage, const Payload& payload) -> Status {
    if (std::none_of(payload.calls.begin(), payload.calls.end(), returns_a_tensor))
      return skipped("no golden call has a tensor as its result");
    GANTRY_TRY(const auto device, stage.device_for(payload));
    GANTRY_CHECK(check_golden(stage, *device, payload));
    const PinnedBytes given = pinned(payload.bytes);
    GANTRY_TRY(const LoadedModule module,
               stage.load(payload, given.bytes->bytes(), given.pin.get()));
    for (const GoldenCall& call : payload.calls) {
      if (!returns_a_tensor(call)) continue;
      GANTRY_CHECK(check_result_alone(stage, *device, payload, call));
      GANTRY_TRY(const LoadedFunction function, stage.function(module, call.function));
      GANTRY_CHECK(check_result_memory(*device, function.pair, call));
    }
    return {};
  });
}

constexpr Case kHandleCases[] = {
    {69, Level::D, Weight::must, "functions-outlive-handles",
     "functions work after the blob, the module and the runtime are released, and are destroyed on "
     "another thread",
     "copy what you use later from the blob; do in destroy() nothing that requires the thread of "
     "load_binary",
     functions_outlive_handles, "*"},
    {70, Level::D, Weight::must, "results-outlive-their-module",
     "a tensor that a call returns is valid after its module is destroyed, and its memory is freed "
     "with it",
     "create results with tensor_new(), or pass tensor_view() an owner; transfer the only "
     "reference",
     results_outlive_their_module, "*"},
};

}  // namespace

std::span<const Case> handle_cases() { return kHandleCases; }

}  // namespace gantry::kit
