// SPDX-License-Identifier: Apache-2.0
#include "core/engine/native/batch.hpp"

#include "core/base/trace/span.hpp"
#include "core/engine/module/module_graph.hpp"
#include "core/engine/native/device_numbers.hpp"
#include "core/engine/native/packed/packed_call.hpp"

#include <gantry/abi_boundary.hpp>
#include <gantry/call_streams.hpp>
#include <gantry/device_name.hpp>

#include <memory>
#include <vector>

namespace gantry {
namespace {

// A call of CPU code with converted arguments.
struct CpuStep {
  PackedCall code;
  PackedValue* values;
  int* codes;
  std::int32_t count;
};

struct Stretch {
  // calls first .. end - 1
  std::size_t first, end;
  // module and services of its calls; NULL: single calls
  const CpuFunction* host;
  gantry_device_id device;
};

struct Batch {
  std::vector<gantry_batch_call> calls;
  // the functions of the calls
  std::vector<Ref<FunctionObject>> functions;
  std::vector<Stretch> stretches;
  // one for each call; empty for single calls
  std::vector<CpuStep> steps;
  std::vector<PackedValue> values;
  std::vector<int> codes;
};

const gantry_object_type batch_type{sizeof(gantry_object_type), 0, "gantry.batch",
                                    [](void* self) { delete static_cast<Batch*>(self); }};

Status check_call(const gantry_batch_call& call, std::size_t index) {
  if (call.flags != 0) {
    return unsupported("call ", index, " of a batch: flags are ", Hex{call.flags},
                       ", this version defines none")
        .with_reason("FLAGS");
  }
  if (call.function == nullptr || call.function->kind != GANTRY_FUNCTION) {
    return invalid("call ", index, " of a batch: the object is ",
                   call.function ? concat("of kind ", call.function->kind) : "NULL",
                   ", expected a function (kind ", std::int32_t{GANTRY_FUNCTION}, ")")
        .with_reason("ARGUMENT_KIND");
  }
  if (call.count < 0) {
    return invalid("call ", index, " of a batch: it has ", call.count, " arguments, minimum is 0")
        .with_reason("ARGUMENT_COUNT");
  }
  return {};
}

// Appends a call to the last stretch, or to a new one.
//
// host     [in]   NULL: a single call
void add_to_stretch(Batch& batch, const CpuFunction* host, gantry_device_id device) {
  const std::size_t index = batch.steps.size();
  if (!batch.stretches.empty()) {
    Stretch& last = batch.stretches.back();
    const bool fits =
        host == nullptr || last.host == nullptr
            ? host == last.host
            : host->owner.node == last.host->owner.node && same_device(device, last.device);
    if (fits) {
      ++last.end;
      return;
    }
  }
  batch.stretches.push_back({index, index + 1, host, device});
}

// Single calls translate the numbers of devices and record spans.
bool may_run_at_once(const ModuleNode& node) {
  const TraceRecorder* const trace = node.artifact->trace;
  return !translates_devices(node) && (trace == nullptr || !trace->is_recording());
}

// One run of a batch.
class BatchRun {
 public:
  BatchRun(const Batch& batch, const gantry_env& env, IsCancelled is_cancelled)
      : batch_(batch), outer_(env), streams_(env), is_cancelled_(is_cancelled) {}

  gantry_code run(gantry_status* status) {
    const KeptUntilHere kept;
    for (const Stretch& stretch : batch_.stretches) {
      const bool at_once = stretch.host != nullptr && may_run_at_once(*stretch.host->owner.node);
      const gantry_code code =
          at_once ? run_at_once(kept.thread(), stretch, status) : run_singly(stretch, status);
      if (code != GANTRY_OK) return code;
    }
    return GANTRY_OK;
  }

  // The current call, or GANTRY_NO_CALL between two calls.
  std::uint64_t at() const { return at_; }

 private:
  bool task_is_cancelled() const { return outer_.task != nullptr && is_cancelled_(outer_); }
  gantry_code cancelled(gantry_status* status) {
    at_ = GANTRY_NO_CALL;
    return gantry_fail(status, GANTRY_CANCELLED, "CANCELLED", "run is cancelled");
  }

  gantry_code run_singly(const Stretch& stretch, gantry_status* status) {
    for (std::size_t i = stretch.first; i < stretch.end; ++i) {
      if (task_is_cancelled()) return cancelled(status);
      at_ = i;
      const gantry_batch_call& one = batch_.calls[i];
      const gantry_env env = streams_.on(one.device);
      gantry_value result{};
      const gantry_code code =
          call(*batch_.functions[i], &env, one.args, one.count, &result, status);
      if (code != GANTRY_OK) return code;
      if (holds_object(result)) gantry_release(result.object);
    }
    return GANTRY_OK;
  }

  // A result that must be converted ends an entry into the CPU code, as does a failure.
  gantry_code run_at_once(CpuThread& thread, const Stretch& stretch, gantry_status* status) {
    const gantry_env env = streams_.on(stretch.device);
    const CpuStep* const steps = batch_.steps.data();
    const CpuStep* step = steps + stretch.first;
    const CpuStep* const end = steps + stretch.end;
    while (step != end) {
      PackedValue value{};
      int result_code = kPackedNull;
      int returned = 0;
      {
        CpuScope scope(thread, stretch.host->owner, env);
        for (;;) {
          if (task_is_cancelled()) [[unlikely]]
            return cancelled(status);
          at_ = static_cast<std::uint64_t>(step - steps);
          returned =
              step->code(step->values, step->codes, step->count, &value, &result_code, nullptr);
          if (returned != 0 || !is_plain_packed(result_code)) [[unlikely]]
            break;
          if (++step == end) break;
          scope.next_call();
        }
        scope.returned(returned);
      }
      if (step == end) return GANTRY_OK;
      gantry_value result{};
      const gantry_code code = finish_packed_call(*host_function(*batch_.functions[at_]), returned,
                                                  value, result_code, &result, status);
      if (code != GANTRY_OK) return code;
      if (holds_object(result)) gantry_release(result.object);
      ++step;
    }
    return GANTRY_OK;
  }

  const Batch& batch_;
  const gantry_env& outer_;
  const CallStreams streams_;
  const IsCancelled is_cancelled_;
  std::uint64_t at_ = GANTRY_NO_CALL;
};

}  // namespace

Result<ObjectPtr> new_batch(std::span<const gantry_batch_call> calls) {
  std::size_t argument_count = 0;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    GANTRY_CHECK(check_call(calls[i], i));
    argument_count += static_cast<std::size_t>(calls[i].count);
  }
  auto batch = std::make_unique<Batch>();
  batch->calls.assign(calls.begin(), calls.end());
  // The steps point into both.
  batch->values.resize(argument_count);
  batch->codes.resize(argument_count);
  PackedValue* values = batch->values.data();
  int* codes = batch->codes.data();
  for (const gantry_batch_call& call : calls) {
    auto* const function = reinterpret_cast<FunctionObject*>(call.function);
    batch->functions.push_back(Ref<FunctionObject>::share(function));
    const CpuFunction* host = host_function(*function);
    if (host != nullptr && !to_plain_packed(call.args, call.count, values, codes)) host = nullptr;
    add_to_stretch(*batch, host, call.device);
    if (host == nullptr) {
      batch->steps.push_back({});
      continue;
    }
    batch->steps.push_back({host->code, values, codes, call.count});
    values += call.count;
    codes += call.count;
  }
  GANTRY_TRY(ObjectPtr object, new_opaque(&batch_type, batch.get(), {}));
  batch.release();
  return object;
}

gantry_code run_batch(const gantry_object* object, const gantry_env& env, IsCancelled is_cancelled,
                      std::uint64_t* failed, gantry_status* status) {
  const auto batch = opaque_self(object, &batch_type);
  if (!batch.ok()) {
    *failed = GANTRY_NO_CALL;
    return to_status(batch.error(), status);
  }
  BatchRun run(*static_cast<const Batch*>(*batch), env, is_cancelled);
  const gantry_code code = abi_boundary(status, [&] { return run.run(status); });
  if (code != GANTRY_OK) *failed = run.at();
  return code;
}

}  // namespace gantry
