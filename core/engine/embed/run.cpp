// SPDX-License-Identifier: Apache-2.0
#include "core/engine/embed/run.hpp"

#include "core/base/trace/span.hpp"
#include "core/engine/embed/arguments.hpp"
#include "core/engine/embed/dlpack.hpp"
#include "core/engine/embed/stream.hpp"
#include "core/engine/embed/strided_copy.hpp"
#include "core/engine/embed/task.hpp"
#include "core/engine/module/trace_arguments.hpp"
#include "core/engine/runtime/devices.hpp"
#include "core/engine/runtime/model_state.hpp"
#include "core/engine/runtime/state.hpp"
#include "core/engine/runtime/traced_copy.hpp"
#include "core/engine/tensor/tensor.hpp"
#include "core/engine/tensor/value_content.hpp"

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
#include <deque>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gantry {
namespace {

std::string title_of(const FunctionSignature& function, const ParameterInfo& input) {
  return concat("input ", quoted(input.name), " of ", function.subject);
}

Status check_tensor(const FunctionSignature& function, const ParameterInfo& input,
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

Status check_value(const FunctionSignature& function, const ParameterInfo& input,
                   const gantry_value& value) {
  if (value.kind == GANTRY_NONE && (input.flags & GANTRY_PARAMETER_OPTIONAL) != 0) return {};
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

// Checks that extents of one name are equal in all inputs.
Status check_extents(const FunctionSignature& function, std::span<const gantry_value> values) {
  struct Known {
    std::int64_t extent;
    const ParameterInfo* input;
  };
  std::map<std::string_view, Known> known;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const ParameterInfo& input = function.own.inputs()[i];
    const gantry_tensor* const tensor = gantry_value_tensor(&values[i]);
    if (tensor == nullptr || input.extents.empty()) continue;
    const auto shape = shape_of(*tensor);
    for (std::size_t axis = 0; axis < shape.size() && axis < input.extents.size(); ++axis) {
      if (input.extents[axis].empty()) continue;
      const Known& first =
          known.try_emplace(input.extents[axis], Known{shape[axis], &input}).first->second;
      if (first.extent == shape[axis]) continue;
      return invalid(title_of(function, input), " is ", tensor_text(*tensor), ", expected ",
                     input.type_text, " with ", input.extents[axis], " = ", first.extent,
                     " as in input ", quoted(first.input->name))
          .with_reason("ARGUMENT_SHAPE");
    }
  }
  return {};
}

// The inputs of a run, each where the executor takes it.
class PlacedInputs {
 public:
  // flags    [in]   GANTRY_RUN_*, or-ed
  // env      [in]   its streams order the copies
  // side     [in]   of copies of the caller's host memory
  PlacedInputs(RuntimeState& runtime, const ReadyFunction& function, std::uint32_t flags,
               const gantry_env& env, HostSide side)
      : runtime_(runtime),
        function_(function),
        signature_(*function.signature),
        flags_(flags),
        env_(env),
        side_(side) {}
  // Work may use the caller's memory after a run that has failed.
  ~PlacedInputs() {
    if (!shared_.empty() && !has_ended_) RunWork::finish(runtime_, function_.devices, env_);
  }
  PlacedInputs(const PlacedInputs&) = delete;
  PlacedInputs& operator=(const PlacedInputs&) = delete;

  // returns  invalid, see gantry_embed::run; exhausted; an error of a device
  Status set(const gantry_run& run) {
    Status done = order(run);
    if (!done.ok() && done.error().reason == "INPUT") {
      return std::move(done).error().at("inputs of ", signature_.subject, ": ",
                                        inputs_text(signature_.own.inputs()));
    }
    if (!done.ok()) return done;
    GANTRY_CHECK(check_extents(signature_, values_));
    for (std::size_t i = 0; i < values_.size(); ++i) GANTRY_CHECK(place(i));
    return {};
  }

  std::span<const gantry_value> values() const { return values_; }
  // of those that were copied
  std::uint64_t copied_bytes() const { return copied_bytes_; }
  // The work of the run has ended.
  void end() { has_ended_ = true; }
  // Keeps copies and objects of the caller until the work ends.
  void keep_in(RunWork& work) {
    has_ended_ = true;
    for (Value& copy : copies_) work.keep(std::move(copy));
    for (const gantry_value& value : given_) {
      if (value.kind >= GANTRY_OBJECT) work.keep(Value::share(value));
    }
  }

 private:
  const ParameterInfo& info(std::size_t index) const { return signature_.own.inputs()[index]; }

  // Sets the values in the order of the signature, borrowed from the caller; tensors with strides are
  // copied.
  Status order(const gantry_run& run) {
    const std::size_t count = signature_.own.inputs().size();
    if (run.input_count != 0) GANTRY_CHECK(check_pointer(run.inputs, "run", "inputs"));
    if (run.input_count > count) {
      return invalid(signature_.subject, " has ", count, " inputs, ", run.input_count, " are given")
          .with_reason("INPUT");
    }
    values_.resize(count);
    std::vector<bool> given(count);
    for (std::uint32_t i = 0; i < run.input_count; ++i) {
      std::size_t index = i;
      if (run.input_names != nullptr) {
        GANTRY_CHECK(check_text(run.input_names[i], "run", "the name of an input"));
        GANTRY_TRY(index, input_index(signature_.subject, signature_.own.inputs(),
                                      view_of(run.input_names[i])));
      }
      if (given[index])
        return invalid(title_of(signature_, info(index)), " is given twice").with_reason("INPUT");
      GANTRY_CHECK(check_value(signature_, info(index), run.inputs[i]));
      given[index] = true;
      values_[index] = run.inputs[i];
      given_.push_back(run.inputs[i]);
      GANTRY_CHECK(make_compact(index));
    }
    for (std::size_t i = 0; i < count; ++i) {
      if (!given[i] && (info(i).flags & GANTRY_PARAMETER_OPTIONAL) == 0)
        return invalid(title_of(signature_, info(i)), " is missing").with_reason("INPUT");
    }
    return {};
  }

  Status make_compact(std::size_t index) {
    const gantry_tensor* const tensor = gantry_value_tensor(&values_[index]);
    if (tensor == nullptr || is_compact(*tensor)) return {};
    GANTRY_CHECK(count_copy(index, *tensor));
    auto copy = compact_copy(*tensor, runtime_.devices, &env_);
    if (!copy.ok()) {
      return std::move(copy).failure().at("while copying ", title_of(signature_, info(index)),
                                          ", which has strides");
    }
    values_[index] = copies_.emplace_back(owned_value(*std::move(copy))).get();
    return {};
  }

  // True if the executor uses a tensor where it is.
  bool is_placed(std::size_t index) const {
    const gantry_placement& at = function_.placed.inputs[index];
    if ((at.flags & GANTRY_PLACEMENT_OWN_ONLY) != 0) return false;
    if ((at.flags & GANTRY_PLACEMENT_KEPT) != 0 && values_[index].kind != GANTRY_TENSOR)
      return false;
    return function_.input_devices[index].accepts(values_[index], at);
  }

  // True if the device uses a tensor of the host where it is. The caller may change the tensor when
  // the run returns; a run with a task may do so before the work ends, which then keeps objects only.
  bool is_shared(std::size_t index) const {
    const gantry_placement& at = function_.placed.inputs[index];
    if ((flags_ & GANTRY_RUN_WAIT) == 0 ||
        (at.flags & (GANTRY_PLACEMENT_OWN_ONLY | GANTRY_PLACEMENT_KEPT)) != 0)
      return false;
    if (env_.task != nullptr && values_[index].kind != GANTRY_TENSOR) return false;
    return function_.input_devices[index].shares(values_[index], at);
  }

  // Passes a tensor of the host as one of the device.
  void share(std::size_t index, const gantry_tensor& tensor) {
    gantry_tensor& shared = shared_.emplace_back(tensor);
    shared.device = function_.placed.inputs[index].device;
    values_[index] = tensor_ref_value(&shared);
  }

  // Copies a tensor that the executor does not use where it is.
  Status place(std::size_t index) {
    const gantry_tensor* const tensor = gantry_value_tensor(&values_[index]);
    if (tensor == nullptr) return {};
    if ((info(index).flags & GANTRY_PARAMETER_WRITTEN) != 0 &&
        values_[index].kind == GANTRY_TENSOR &&
        dlpack::is_read_only(*reinterpret_cast<const TensorObject*>(values_[index].object))) {
      return invalid(title_of(signature_, info(index)), " is read-only, and the function writes it")
          .with_reason("READ_ONLY");
    }
    if (is_placed(index)) return {};
    if (is_shared(index)) {
      share(index, *tensor);
      return {};
    }
    GANTRY_CHECK(count_copy(index, *tensor));
    const gantry_placement& at = function_.placed.inputs[index];
    if (at.own != nullptr && (at.flags & GANTRY_PLACEMENT_KEPT) == 0) {
      GANTRY_CHECK(traced_copy(runtime_, *tensor, *at.own, &env_, side_of(index)));
      values_[index] = tensor_ref_value(const_cast<gantry_tensor*>(at.own));
      return {};
    }
    GANTRY_TRY(
        Ref<TensorObject> copy,
        tensor_new(runtime_.devices, compact_tensor(tensor->dtype, shape_of(*tensor), at.device)));
    GANTRY_CHECK(traced_copy(runtime_, *tensor, copy->tensor, &env_, side_of(index)));
    values_[index] = copies_.emplace_back(owned_value(std::move(copy))).get();
    return {};
  }

  // The host's own copies of tensors with strides are freed on return.
  HostSide side_of(std::size_t index) const {
    const bool is_own = std::ranges::any_of(copies_, [&](const Value& copy) {
      return copy.get().kind == values_[index].kind && copy.get().p == values_[index].p;
    });
    return is_own ? HostSide::waits : side_;
  }

  // returns  invalid, reason COPY_REQUIRED
  Status count_copy(std::size_t index, const gantry_tensor& tensor) {
    const bool is_written = (info(index).flags & GANTRY_PARAMETER_WRITTEN) != 0;
    if ((flags_ & GANTRY_RUN_NO_COPY) == 0 && !is_written) {
      const auto bytes = data_bytes(tensor);
      copied_bytes_ += bytes.ok() ? *bytes : 0;
      return {};
    }
    return invalid(title_of(signature_, info(index)), " must be copied, ", tensor_text(tensor),
                   " at ", Hex{reinterpret_cast<std::uintptr_t>(tensor.data) + tensor.byte_offset},
                   is_written ? ", and the function writes it" : ", and copies are not allowed")
        .with_reason("COPY_REQUIRED");
  }

  RuntimeState& runtime_;
  const ReadyFunction& function_;
  const FunctionSignature& signature_;
  const std::uint32_t flags_;
  const gantry_env& env_;
  const HostSide side_;
  bool has_ended_ = false;
  // tensors of the caller, as tensors of a device
  std::deque<gantry_tensor> shared_;
  // borrowed, as the caller has passed them
  std::vector<gantry_value> given_;
  std::vector<gantry_value> values_;
  std::vector<Value> copies_;
  std::uint64_t copied_bytes_ = 0;
};

std::uint64_t reference_count(const gantry_object& object) {
  return std::atomic_ref(const_cast<gantry_object&>(object).counts).load() & UINT32_MAX;
}
bool has_one_reference(const gantry_object& object) { return reference_count(object) == 1; }

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

// The outputs of a run: what the executor receives, and what the caller gets.
class PassedOutputs {
 public:
  // side     [in]   of copies to the caller's host memory
  PassedOutputs(RuntimeState& runtime, const ReadyFunction& function,
                std::span<const gantry_value> inputs, const gantry_env& env, HostSide side)
      : runtime_(runtime),
        function_(function),
        signature_(*function.signature),
        inputs_(inputs),
        env_(env),
        side_(side) {}
  ~PassedOutputs() {
    for (std::size_t i = 0; i < passed_.size(); ++i) {
      if (!is_filled_[i]) Value::adopt(passed_[i]);
    }
    Value::adopt(result_);
  }
  PassedOutputs(const PassedOutputs&) = delete;
  PassedOutputs& operator=(const PassedOutputs&) = delete;

  // Chooses the memory that the executor fills: tensors of the caller, and new ones in place of
  // memory that the next run would write. Outputs that are not stated are returned in an array.
  Status prepare(const gantry_run& run, gantry_executor_run& to) {
    if (!signature_.own.outputs()) return {};
    const std::size_t count = signature_.own.outputs()->size();
    GANTRY_CHECK(check_count(run, count));
    // before `passed_`, for which the destructor reads it
    is_filled_.resize(count);
    passed_.resize(count);
    made_.resize(count);
    for (std::uint32_t i = 0; i < count; ++i) GANTRY_CHECK(prepare(i, given(run, i)));
    to.outputs = passed_.data();
    to.output_count = static_cast<std::uint32_t>(count);
    return {};
  }

  // Passes what the executor has returned to the caller: each output as an object that no later run
  // writes, or in the caller's tensor.
  //
  // run      [in,out] unchanged after a failure, but for the content of tensors in run.outputs
  Status pass(const gantry_executor_run& from, gantry_run& run) {
    result_ = from.result;
    GANTRY_TRY(std::vector<NamedOutput> outputs, returned());
    const auto count = static_cast<std::uint32_t>(outputs.size());
    GANTRY_CHECK(check_count(run, count));
    for (std::uint32_t i = 0; i < count; ++i) {
      const gantry_value target = given(run, i);
      GANTRY_CHECK(check_target(target, i));
      if (outputs[i].is_done) continue;
      if (const gantry_tensor* const tensor = gantry_value_tensor(&target)) {
        GANTRY_CHECK(fill(*tensor, outputs[i]));
        outputs[i].value = Value();
      } else if (outputs[i].must_copy) {
        GANTRY_TRY(outputs[i].value, copy_of(outputs[i].value.get()));
      }
    }
    if (run.outputs == nullptr) {
      std::vector<gantry_value> items;
      for (const NamedOutput& each : outputs) items.push_back(each.value.get());
      GANTRY_TRY(ObjectPtr array, new_items(GANTRY_ARRAY, items));
      run.result = owned_value(std::move(array)).take();
    } else {
      for (std::uint32_t i = 0; i < count; ++i) {
        if (run.outputs[i].kind == GANTRY_NONE) run.outputs[i] = outputs[i].value.take();
      }
    }
    run.output_count = count;
    return {};
  }

 private:
  struct NamedOutput {
    std::string name;
    Value value;
    // its memory is or may become that of others: of the executor, of an input, or of a constant
    bool must_copy = false;
    // the executor has written the caller's tensor
    bool is_done = false;
  };

  static gantry_value given(const gantry_run& run, std::uint32_t index) {
    return run.outputs != nullptr && index < run.output_count ? run.outputs[index] : gantry_value{};
  }

  Status check_count(const gantry_run& run, std::size_t count) const {
    if (run.outputs == nullptr || count <= run.output_count) return {};
    return invalid(signature_.subject, " has ", count, " outputs, `outputs` has ", run.output_count,
                   " elements")
        .with_reason("OUTPUT_COUNT");
  }

  bool shares_memory(const gantry_tensor& tensor, std::span<const gantry_value> others) const {
    return std::ranges::any_of(others, [&](const gantry_value& other) {
      const gantry_tensor* const passed = gantry_value_tensor(&other);
      return passed != nullptr && passed != &tensor && share_memory(tensor, *passed);
    });
  }

  Status prepare(std::uint32_t index, const gantry_value& target) {
    GANTRY_CHECK(check_target(target, index));
    const ParameterInfo& stated = (*signature_.own.outputs())[index];
    const gantry_placement& at = function_.placed.outputs[index];
    if (const gantry_tensor* const tensor = gantry_value_tensor(&target)) {
      // Others are filled with a copy, after the run.
      const bool fits = stated.type && data_bytes(*tensor).ok() &&
                        has_type(tensor->dtype, shape_of(*tensor), *stated.type) &&
                        function_.output_devices[index].accepts(target, at) &&
                        !shares_memory(*tensor, inputs_) && !shares_memory(*tensor, passed_);
      if (!fits) return {};
      is_filled_[index] = true;
      passed_[index] = tensor_ref_value(const_cast<gantry_tensor*>(tensor));
      return {};
    }
    const bool is_fixed =
        stated.type && std::ranges::all_of(stated.type->shape, [](auto each) { return each >= 0; });
    if (!is_fixed || (at.flags & GANTRY_PLACEMENT_REUSED) == 0) return {};
    GANTRY_TRY(Ref<TensorObject> made,
               tensor_new(runtime_.devices,
                          compact_tensor(stated.type->dtype, stated.type->shape, at.device)));
    is_filled_[index] = true;
    passed_[index] = tensor_ref_value(&made->tensor);
    made_[index] = owned_value(std::move(made));
    return {};
  }

  // What the executor has returned; objects of it are owned by the result.
  Result<std::vector<NamedOutput>> returned() {
    std::vector<NamedOutput> outputs;
    if (!signature_.own.outputs()) {
      if (result_.kind != GANTRY_ARRAY)
        return bug("run of ", signature_.subject, " returns ", kind_text(result_.kind),
                   ", expected an array of its outputs")
            .with_reason("RESULT_KIND");
      GANTRY_TRY(const auto items, items_in(result_));
      const bool is_shared = !has_one_reference(*result_.object);
      for (std::size_t i = 0; i < items.size(); ++i) {
        NamedOutput& output = outputs.emplace_back();
        output.name = output_name(i, items.size());
        output.must_copy = is_shared || must_copy(items[i], 1);
        output.value = Value::share(items[i]);
      }
      return outputs;
    }
    const std::vector<ParameterInfo>& stated = *signature_.own.outputs();
    for (std::size_t i = 0; i < stated.size(); ++i) {
      NamedOutput& output = outputs.emplace_back();
      output.name = stated[i].name;
      if (is_filled_[i]) {
        output.is_done = true;
        output.value = std::move(made_[i]);
        continue;
      }
      if (passed_[i].kind == GANTRY_NONE) {
        return bug("run of ", signature_.subject, " returns no output ", quoted(output.name))
            .with_reason("RESULT_KIND");
      }
      output.value = Value::adopt(std::exchange(passed_[i], gantry_value{}));
      output.must_copy = (function_.placed.outputs[i].flags & GANTRY_PLACEMENT_REUSED) != 0 ||
                         must_copy(output.value.get(), 1);
    }
    return outputs;
  }

  // references  [in]  that this run has
  bool must_copy(const gantry_value& value, std::uint32_t references) const {
    const gantry_tensor* const tensor = gantry_value_tensor(&value);
    if (tensor == nullptr) return false;
    return reference_count(*value.object) > references || shares_memory(*tensor, inputs_);
  }

  Result<Value> copy_of(const gantry_value& value) const {
    const gantry_tensor* const from = gantry_value_tensor(&value);
    if (from == nullptr) return Value::share(value);
    GANTRY_TRY(
        Ref<TensorObject> made,
        tensor_new(runtime_.devices, compact_tensor(from->dtype, shape_of(*from), from->device)));
    GANTRY_CHECK(traced_copy(runtime_, *from, made->tensor, &env_));
    return owned_value(std::move(made));
  }

  // Copies an output to a tensor of the caller.
  Status fill(const gantry_tensor& to, const NamedOutput& output) const {
    const gantry_value& value = output.value.get();
    const auto title = [&] {
      return concat("output ", quoted(output.name), " of ", signature_.subject);
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
    Status copied = traced_copy(runtime_, *from, to, &env_, side_);
    if (!copied.ok()) return std::move(copied).error().at("while filling the tensor for ", title());
    return {};
  }

  RuntimeState& runtime_;
  const ReadyFunction& function_;
  const FunctionSignature& signature_;
  std::span<const gantry_value> inputs_;
  const gantry_env& env_;
  const HostSide side_;
  // for each output: what the executor receives, and returns
  std::vector<gantry_value> passed_;
  // for each output: `passed_` is a tensor to fill
  std::vector<bool> is_filled_;
  // for each output: the new tensor that is filled
  std::vector<Value> made_;
  gantry_value result_{};
};

// The task and the streams of a run.
class RunContext {
 public:
  static Result<RunContext> of(const gantry_run& run, const RuntimeState& runtime) {
    RunContext context;
    if (run.task != nullptr) {
      GANTRY_TRY(const TaskObject* task, task_argument(run.task, "run"));
      context.task_ = &task->task;
    }
    if (run.stream != nullptr) GANTRY_CHECK(context.add(run.stream, runtime));
    if (run.stream_count != 0) GANTRY_CHECK(check_pointer(run.streams, "run", "streams"));
    for (std::uint32_t i = 0; i < run.stream_count; ++i)
      GANTRY_CHECK(context.add(run.streams[i], runtime));
    return context;
  }

  const EmbeddedTask* task() const { return task_; }
  std::span<const Ref<StreamObject>> streams() const { return streams_; }
  // lifetime as long as this object, which must not move
  gantry_env env() {
    gantry_env env = default_env;
    env.task = static_cast<const CallTask*>(task_);
    if (items_.empty()) return env;
    env.device = items_.front().device;
    env.stream = items_.front().stream;
    further_ = {items_.data() + 1, items_.size() - 1};
    if (further_.count != 0) env.streams = &further_;
    return env;
  }

 private:
  Status add(gantry_object* given, const RuntimeState& runtime) {
    GANTRY_TRY(StreamObject * stream, stream_argument(given, runtime, "run"));
    const auto is_of_its_device = [&](const gantry_device_stream& item) {
      return same_device(item.device, stream->device);
    };
    if (std::ranges::any_of(items_, is_of_its_device)) {
      GANTRY_TRY(const auto kind, runtime.devices.get(stream->device.type));
      return invalid("run: two streams are of device ", kind->name, ":", stream->device.index)
          .with_reason("ARGUMENT");
    }
    streams_.push_back(Ref<StreamObject>::share(stream));
    items_.push_back({stream->device, stream->handle});
    return {};
  }

  const EmbeddedTask* task_ = nullptr;
  std::vector<Ref<StreamObject>> streams_;
  std::vector<gantry_device_stream> items_;
  gantry_streams further_{};
};

// A run that fails because its deadline has passed reports that.
Status with_deadline(Status ran, const EmbeddedTask* task) {
  if (ran.ok() || ran.error().code != Code::cancelled || task == nullptr || !task->is_late())
    return ran;
  return std::move(ran).failure().with_reason("DEADLINE").at("the deadline of the task has passed");
}

// Checks that no device of a model is lost. The models of an archive have devices of their own.
Status check_devices(ModelState& model) {
  if (model.is_archive()) return {};
  GANTRY_TRY(const std::span<const gantry_device_id> devices, model.devices(0));
  for (const gantry_device_id device : devices)
    GANTRY_CHECK(check_not_lost(*model.source().runtime, device));
  return {};
}

// Waits for the work of a run. If its task is cancelled before, what the work uses is kept.
//
// given    [in]   by the caller
// passed   [in]   with the outputs, which the caller does not get after a failure
Status wait_for_work(ModelObject& model, const ReadyFunction& function, const gantry_env& env,
                     const EmbeddedTask* task, PlacedInputs& inputs, const gantry_run& given,
                     const gantry_run& passed) {
  std::vector<Value> outputs;
  if (passed.outputs == nullptr) outputs.push_back(Value::adopt(passed.result));
  for (std::uint32_t i = 0; passed.outputs != nullptr && i < given.output_count; ++i) {
    const bool is_new = given.outputs[i].kind == GANTRY_NONE;
    outputs.push_back(is_new ? Value::adopt(passed.outputs[i]) : Value::share(passed.outputs[i]));
  }
  GANTRY_TRY(auto work, RunWork::begin(model.runtime(), function.devices, env));
  Status done = with_deadline(work->wait(task), task);
  if (done.ok()) {
    inputs.end();
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const bool is_new = passed.outputs == nullptr || given.outputs[i].kind == GANTRY_NONE;
      if (is_new) (void)outputs[i].take();
    }
    return done;
  }
  for (Value& output : outputs) work->keep(std::move(output));
  inputs.keep_in(*work);
  model.unfinished.add(std::move(work));
  return done;
}

}  // namespace

Status run_model(ModelObject& model, gantry_run& run) {
  GANTRY_CHECK(check_flags(run.flags, GANTRY_RUN_NO_COPY | GANTRY_RUN_WAIT | GANTRY_RUN_IN_STREAM,
                           "gantry_run"));
  if (run.outputs == nullptr && run.result.kind != GANTRY_NONE) {
    return invalid("run: result is ", kind_text(run.result.kind), " on entry, expected none")
        .with_reason("ARGUMENT_KIND");
  }
  RuntimeState& runtime = model.runtime();
  GANTRY_TRY(RunContext context, RunContext::of(run, runtime));
  const gantry_env env = context.env();
  const HostSide side =
      (run.flags & GANTRY_RUN_IN_STREAM) != 0 ? HostSide::in_stream : HostSide::waits;
  const EmbeddedTask::Run running(context.task());
  GANTRY_CHECK(check_not_cancelled(context.task()));
  GANTRY_CHECK(check_devices(*model.model));
  model.unfinished.release_ended();
  ModelInstances::Use use(model.instances, context.task());
  GANTRY_CHECK(use.begin());
  GANTRY_CHECK(check_text(run.function, "run", "function"));
  GANTRY_TRY(const ReadyFunction* const function, use.function(view_of(run.function), env));
  GANTRY_CHECK(check_not_lost(runtime, function->signature->table.device));
  PlacedInputs inputs(runtime, *function, run.flags, env, side);
  GANTRY_CHECK(inputs.set(run));
  GANTRY_CHECK(use->follow(runtime, context.streams()));
  gantry_executor_run of_executor{};
  of_executor.struct_size = sizeof of_executor;
  of_executor.function = function->index;
  of_executor.inputs = inputs.values().data();
  of_executor.input_count = static_cast<std::uint32_t>(inputs.values().size());
  PassedOutputs outputs(runtime, *function, inputs.values(), env, side);
  GANTRY_CHECK(outputs.prepare(run, of_executor));
  {
    Span span(runtime.trace.get(), function->signature->name, "call");
    if (span.is_recorded()) {
      span.set_arguments(
          trace_arguments(of_executor.inputs, static_cast<std::int32_t>(of_executor.input_count)));
    }
    GANTRY_CHECK(with_deadline(function->executor->run(env, of_executor), context.task()));
  }
  if ((run.flags & GANTRY_RUN_WAIT) == 0) {
    GANTRY_CHECK(outputs.pass(of_executor, run));
    run.copied_bytes = inputs.copied_bytes();
    return {};
  }
  // The outputs are the caller's after the wait.
  gantry_run waited = run;
  std::vector<gantry_value> values(run.outputs, run.outputs + (run.outputs ? run.output_count : 0));
  if (run.outputs != nullptr) waited.outputs = values.data();
  GANTRY_CHECK(outputs.pass(of_executor, waited));
  GANTRY_CHECK(wait_for_work(model, *function, env, context.task(), inputs, run, waited));
  std::ranges::copy(values, run.outputs);
  run.result = waited.result;
  run.output_count = waited.output_count;
  run.copied_bytes = inputs.copied_bytes();
  return {};
}

}  // namespace gantry
