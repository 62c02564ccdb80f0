// SPDX-License-Identifier: Apache-2.0
#include "core/engine/embed/run.hpp"

#include "core/engine/embed/arguments.hpp"
#include "core/engine/embed/dlpack.hpp"
#include "core/engine/embed/stream.hpp"
#include "core/engine/embed/strided_copy.hpp"
#include "core/engine/embed/task.hpp"
#include "core/engine/runtime/model_state.hpp"
#include "core/engine/runtime/state.hpp"
#include "core/engine/tensor/tensor.hpp"

#include <gantry/embed.h>
#include <gantry/compact_tensor.hpp>
#include <gantry/device_name.hpp>
#include <gantry/kind_text.hpp>
#include <gantry/quoted.hpp>
#include <gantry/result.hpp>
#include <gantry/tensor_text.hpp>
#include <gantry/tensor_type.hpp>
#include <gantry/value.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {
namespace {

// The inputs of a run in the order of the function's inputs.
struct OrderedInputs {
  // borrowed from the caller or from `copies`
  std::vector<gantry_value> values;
  // compact copies of tensors with strides
  std::vector<Value> copies;
};

std::string title_of(const FunctionState& function, const ParameterInfo& input) {
  return concat("input ", quoted(input.name), " of ", function.subject());
}

Status check_tensor(const FunctionState& function, const ParameterInfo& input,
                    const gantry_tensor& tensor) {
  auto bytes = data_bytes(tensor);
  if (!bytes.ok()) {
    return std::move(bytes)
        .failure()
        .with_reason("ARGUMENT_SHAPE")
        .at("in ", title_of(function, input));
  }
  if (tensor.data == nullptr && *bytes != 0)
    return invalid(title_of(function, input), " is at address 0").with_reason("ARGUMENT");
  const auto shape = shape_of(tensor);
  if (!input.type || has_type(tensor.dtype, shape, *input.type)) return {};
  return wrong_type(title_of(function, input), tensor.dtype, shape, input.type->dtype,
                    input.type_text);
}

Status check_value(const FunctionState& function, std::size_t index, const gantry_value& value) {
  const ParameterInfo& input = function.inputs[index];
  const bool is_absent = is_null(value);
  const gantry_tensor* const tensor = is_absent ? nullptr : gantry_value_tensor(&value);
  if (is_absent || (tensor == nullptr && input.type)) {
    return invalid(title_of(function, input), " is ",
                   is_absent ? std::string("NULL") : kind_text(value.kind), ", expected ",
                   input.type ? "a tensor" : "a value")
        .with_reason("ARGUMENT_KIND");
  }
  return tensor == nullptr ? Status() : check_tensor(function, input, *tensor);
}

Result<OrderedInputs> in_order(const FunctionState& function, const gantry_run& run,
                               const RuntimeState& runtime, const gantry_env* env,
                               InputCopies& copies) {
  const std::size_t count = function.inputs.size();
  if (run.input_count != 0) GANTRY_CHECK(check_pointer(run.inputs, "run", "inputs"));
  if (run.input_count > count) {
    return invalid(function.subject(), " has ", count, " inputs, ", run.input_count, " are given")
        .with_reason("INPUT");
  }
  OrderedInputs inputs;
  inputs.values.resize(count);
  std::vector<bool> given(count);
  for (std::uint32_t i = 0; i < run.input_count; ++i) {
    std::size_t index = i;
    if (run.input_names != nullptr) {
      GANTRY_CHECK(check_text(run.input_names[i], "run", "the name of an input"));
      GANTRY_TRY(index, input_index(function, view_of(run.input_names[i])));
    }
    if (given[index]) {
      return invalid(title_of(function, function.inputs[index]), " is given twice")
          .with_reason("INPUT");
    }
    GANTRY_CHECK(check_value(function, index, run.inputs[i]));
    given[index] = true;
    inputs.values[index] = run.inputs[i];
    const gantry_tensor* const tensor = gantry_value_tensor(&run.inputs[i]);
    if (tensor == nullptr || is_compact(*tensor)) continue;
    GANTRY_CHECK(copies.add(function, index, run.inputs[i]));
    auto copy = compact_copy(*tensor, runtime.devices, env);
    if (!copy.ok()) {
      return std::move(copy).failure().at(
          "while copying ", title_of(function, function.inputs[index]), ", which has strides");
    }
    inputs.values[index] = inputs.copies.emplace_back(owned_value(*std::move(copy))).get();
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (!given[i])
      return invalid(title_of(function, function.inputs[i]), " is missing").with_reason("INPUT");
  }
  return inputs;
}

// env      [in]   its stream is used to read a tensor on env->device; NULL: the default stream
// copies   [in,out] counts the compact copies
// returns  invalid, see gantry_embed::run; exhausted; an error of a device
Result<OrderedInputs> ordered_inputs(const FunctionState& function, const gantry_run& run,
                                     const RuntimeState& runtime, const gantry_env* env,
                                     InputCopies& copies) {
  auto inputs = in_order(function, run, runtime, env, copies);
  if (inputs.ok() || inputs.error().reason != "INPUT") return inputs;
  return std::move(inputs).failure().at("inputs of ", function.subject(), ": ",
                                        inputs_text(function.inputs));
}

bool has_one_reference(const gantry_object& object) {
  return (std::atomic_ref(const_cast<gantry_object&>(object).counts).load() & UINT32_MAX) == 1;
}

// True if the memory of two tensors may overlap.
bool share_memory(const gantry_tensor& a, const gantry_tensor& b) {
  if (!same_device(a.device, b.device)) return false;
  if (a.device.type != kCpu) return a.data == b.data;
  const auto extent = [](const gantry_tensor& tensor) {
    const auto size = data_bytes(tensor);
    return size.ok() ? *size : UINT64_MAX;
  };
  const auto begin = [](const gantry_tensor& tensor) {
    return reinterpret_cast<std::uintptr_t>(tensor.data) + tensor.byte_offset;
  };
  return begin(a) <= begin(b) ? begin(b) - begin(a) < extent(a) : begin(a) - begin(b) < extent(b);
}

class OutputPasser {
 public:
  OutputPasser(RuntimeState& runtime, FunctionState& function, std::span<const gantry_value> inputs,
               const gantry_env* env)
      : runtime_(runtime), function_(function), inputs_(inputs), env_(env) {}

  // Returns an output as an object of the caller.
  Result<Value> as_object(const Value& output) const {
    const gantry_value& value = output.get();
    if (!must_copy(value)) return output;
    const gantry_tensor& from = *gantry_value_tensor(&value);
    GANTRY_TRY(
        Ref<TensorObject> made,
        tensor_new(runtime_.devices, compact_tensor(from.dtype, shape_of(from), from.device)));
    GANTRY_CHECK(tensor_copy(runtime_.devices, from, made->tensor, env_));
    return owned_value(std::move(made));
  }

  // Copies an output to a tensor of the caller.
  Status fill(const gantry_tensor& to, const NamedOutput& output) const {
    const gantry_value& value = output.value.get();
    const auto title = [&] {
      return concat("output ", quoted(output.name), " of ", function_.subject());
    };
    const gantry_tensor* const from = gantry_value_tensor(&value);
    if (from == nullptr) {
      return invalid(title(), " is ", kind_text(value.kind),
                     ", and a tensor is to be filled with it")
          .with_reason("ARGUMENT_KIND");
    }
    if (!same_dtype(to.dtype, from->dtype) || !std::ranges::equal(shape_of(to), shape_of(*from))) {
      return wrong_type(concat("the tensor for ", title()), to.dtype, shape_of(to), from->dtype,
                        tensor_text(*from));
    }
    Status copied = tensor_copy(runtime_.devices, *from, to, env_);
    if (!copied.ok()) return std::move(copied).error().at("while filling the tensor for ", title());
    return {};
  }

 private:
  // True for a tensor whose memory is or may become that of others: of the function, of an input, or
  // of a constant.
  bool must_copy(const gantry_value& value) const {
    const gantry_tensor* const tensor = gantry_value_tensor(&value);
    if (tensor == nullptr) return false;
    if (function_.reuses_outputs() || !has_one_reference(*value.object)) return true;
    return std::ranges::any_of(inputs_, [&](const gantry_value& input) {
      const gantry_tensor* const passed = gantry_value_tensor(&input);
      return passed != nullptr && share_memory(*tensor, *passed);
    });
  }

  RuntimeState& runtime_;
  FunctionState& function_;
  std::span<const gantry_value> inputs_;
  const gantry_env* env_;
};

Status check_target(const gantry_value& given, std::uint32_t index) {
  if (given.kind == GANTRY_NONE) return {};
  const bool is_tensor = given.kind == GANTRY_TENSOR || given.kind == GANTRY_TENSOR_REF;
  if (is_tensor && given.p != nullptr) {
    if (given.kind == GANTRY_TENSOR_REF ||
        !dlpack::is_read_only(*reinterpret_cast<const TensorObject*>(given.object)))
      return {};
    return invalid("element ", index, " of outputs is read-only").with_reason("READ_ONLY");
  }
  return invalid("element ", index, " of outputs is ",
                 is_tensor ? std::string("NULL") : kind_text(given.kind),
                 ", expected none or a tensor")
      .with_reason("ARGUMENT_KIND");
}

// Passes the outputs of the last run of a function to the caller: each as an object that no later
// run writes, or in the caller's tensor. The function keeps none of them.
//
// inputs   [in]   of the run
// env      [in]   of the run; NULL: default streams
// run      [in,out] unchanged after a failure, but for the content of tensors in run.outputs
// returns  invalid, see gantry_embed::run; exhausted; the error of a device
Status pass_outputs(RuntimeState& runtime, FunctionState& function,
                    std::span<const gantry_value> inputs, const gantry_env* env, gantry_run& run) {
  GANTRY_TRY(const std::vector<NamedOutput> outputs, function.outputs());
  // Results that only the function kept have one reference from here on.
  if (!function.reuses_outputs()) function.forget();
  const OutputPasser passer(runtime, function, inputs, env);
  const auto count = static_cast<std::uint32_t>(outputs.size());
  if (run.outputs != nullptr && count > run.output_count) {
    return invalid(function.subject(), " has ", count, " outputs, `outputs` has ", run.output_count,
                   " elements")
        .with_reason("OUTPUT_COUNT");
  }
  std::vector<Value> made(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    const gantry_value given = run.outputs != nullptr ? run.outputs[i] : gantry_value{};
    GANTRY_CHECK(check_target(given, i));
    if (const gantry_tensor* const target = gantry_value_tensor(&given)) {
      GANTRY_CHECK(passer.fill(*target, outputs[i]));
    } else {
      GANTRY_TRY(made[i], passer.as_object(outputs[i].value));
    }
  }
  if (run.outputs == nullptr) {
    std::vector<gantry_value> items;
    for (const Value& value : made) items.push_back(value.get());
    GANTRY_TRY(Ref<ItemsObject> array, new_items(GANTRY_ARRAY, items));
    run.result = owned_value(std::move(array)).take();
  } else {
    for (std::uint32_t i = 0; i < count; ++i) {
      if (run.outputs[i].kind == GANTRY_NONE) run.outputs[i] = made[i].take();
    }
  }
  run.output_count = count;
  return {};
}

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
    context.env = gantry_env{{kCpu, 0}, nullptr, static_cast<const CallTask*>(context.task), nullptr};
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
