// SPDX-License-Identifier: Apache-2.0
#include "tools/conformance/model_run.hpp"

#include "core/engine/tensor/tensor.hpp"
#include "core/engine/tensor/value_content.hpp"
#include "core/plugins/library/table_copy.hpp"
#include "tools/conformance/plugin_call.hpp"

#include <gantry/abi_boundary.hpp>
#include <gantry/compact_tensor.hpp>
#include <gantry/join.hpp>
#include <gantry/quoted.hpp>
#include <gantry/tensor_text.hpp>
#include <gantry/value.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

namespace gantry::kit {
namespace {

using Kind = GoldenValue::Kind;

template <class Call>
Status called(std::string_view function, Call&& call) {
  StatusBuffer status;
  const PluginCall record(function);
  const gantry_code code = status.call(std::forward<Call>(call));
  if (code == GANTRY_OK) return {};
  return status.error(code, function);
}

// The devices that a model states. Of alternatives, the first that this host has.
Result<std::vector<gantry_device_id>> stated_devices(const RuntimeState& state,
                                                     const gantry_model_info& info) {
  std::vector<gantry_device_id> devices;
  const bool one_is_enough = (info.flags & GANTRY_MODEL_ALTERNATIVES) != 0;
  for (std::uint32_t i = 0; i < info.device_count; ++i) {
    const std::int32_t type = info.device_types[i];
    const auto index =
        static_cast<std::int32_t>(std::ranges::count(devices, type, &gantry_device_id::type));
    std::int32_t count = 0;
    const auto* const device = state.devices.find(type);
    if (device != nullptr) (*device)->table->count((*device)->self, &count, nullptr);
    if (index < count) {
      devices.push_back({type, index});
      if (one_is_enough) break;
    } else if (!one_is_enough) {
      return not_run("the model states a device of number ", type, ", index ", index,
                     ", which this host lacks");
    }
  }
  if (devices.empty() && info.device_count != 0)
    return not_run("this host has none of the devices that the model states");
  return devices;
}

bool is_fixed_tensor(const gantry_parameter& parameter) {
  if (parameter.kind != GANTRY_TENSOR || parameter.dtype.bits == 0 || parameter.ndim < 0)
    return false;
  return std::all_of(parameter.shape, parameter.shape + parameter.ndim,
                     [](std::int64_t extent) { return extent >= 0; });
}

std::span<const std::int64_t> extents_of(const gantry_parameter& parameter) {
  return {parameter.shape, static_cast<std::size_t>(parameter.ndim)};
}

}  // namespace

Result<TestedModel> TestedModel::of(RuntimeState& state, const gantry_module& module,
                                    gantry_device_id other) {
  const gantry_module_table* const table = module.table;
  const void* found = nullptr;
  if (GANTRY_HAS(table, get_extension) && table->get_extension != nullptr)
    found = table->get_extension(module.self, GANTRY_MODEL_1);
  if (found == nullptr) return skipped("the module is no model");
  TestedModel model;
  model.state_ = &state;
  model.self_ = module.self;
  GANTRY_TRY(model.table_, state.models.get(static_cast<const gantry_model*>(found), "the model"));
  model.info_.struct_size = sizeof model.info_;
  GANTRY_CHECK(called("info", [&](gantry_status* status) {
    return model.table_->info(model.self_, &model.info_, status);
  }));
  GANTRY_TRY(model.devices_, stated_devices(state, model.info_));
  if (model.devices_.empty()) model.devices_.push_back(other);
  return model;
}

std::vector<std::string_view> TestedModel::functions() const {
  std::vector<std::string_view> names;
  for (std::uint32_t i = 0; i < info_.function_count; ++i)
    names.push_back(view_of(info_.functions[i]));
  return names;
}

Result<std::uint32_t> TestedModel::function(std::string_view name) const {
  const std::vector<std::string_view> names = functions();
  if (name.empty() && info_.default_function < names.size()) return info_.default_function;
  const auto is_meant = [&](std::string_view each) {
    return name.empty() ? !each.starts_with('_') : each == name;
  };
  const auto found = std::ranges::find_if(names, is_meant);
  if (found != names.end() && (!name.empty() || std::ranges::count_if(names, is_meant) == 1))
    return static_cast<std::uint32_t>(found - names.begin());
  if (name.empty()) return bug("the model has no default function, and a golden run names none");
  return bug("the model has no function ", quoted(name), ", it has ", join(names));
}

Result<const gantry_signature*> TestedModel::signature(std::uint32_t function) const {
  const gantry_signature* found = nullptr;
  GANTRY_CHECK(called("signature", [&](gantry_status* status) {
    return table_->signature(self_, function, &found, status);
  }));
  GANTRY_CHECK(copy_record(found, "signature"));
  for (const auto& [list, count] : {std::pair{found->inputs, found->input_count},
                                    std::pair{found->outputs, found->output_count}}) {
    for (std::uint32_t i = 0; i < count; ++i) GANTRY_CHECK(copy_record(list[i], "signature"));
  }
  return found;
}

Result<std::unique_ptr<TestedExecutor>> TestedModel::executor(std::uint32_t flags,
                                                              const void* task) const {
  gantry_executor_options options{};
  options.struct_size = sizeof options;
  options.flags = flags;
  options.devices = devices_.data();
  options.device_count = static_cast<std::uint32_t>(devices_.size());
  const gantry_env env{devices_.front(), nullptr, task, nullptr};
  gantry_executor made{};
  Status created = called("executor_new", [&](gantry_status* status) {
    return table_->executor_new(self_, &env, &options, &made, status);
  });
  if (!created.ok()) {
    if (made.table != nullptr) return bug("executor_new fails and writes an executor");
    return std::move(created).failure();
  }
  if (made.table == nullptr) return bug("executor_new succeeds without an executor");
  GANTRY_TRY(const gantry_executor_table* const table,
             state_->executors.get(made.table, "the executor"));
  return std::make_unique<TestedExecutor>(*this, made.self, table);
}

Status TestedModel::synchronize() const {
  for (const gantry_device_id id : devices_) {
    GANTRY_TRY(const auto device, state_->devices.get(id.type));
    GANTRY_CHECK(called("synchronize", [&](gantry_status* status) {
      return device->table->synchronize(device->self, id.index, nullptr, status);
    }));
  }
  return {};
}

Result<TestedExecutor::Placed> TestedExecutor::placements(std::uint32_t function) const {
  GANTRY_TRY(const gantry_signature* const signature, model_.signature(function));
  const gantry_placement* inputs = nullptr;
  const gantry_placement* outputs = nullptr;
  GANTRY_CHECK(called("placements", [&](gantry_status* status) {
    return table_->placements(self_, function, &inputs, &outputs, status);
  }));
  if ((inputs == nullptr && signature->input_count != 0) ||
      (outputs == nullptr && signature->output_count != 0))
    return bug("placements returns NULL for ", signature->input_count, " inputs and ",
               signature->output_count, " outputs");
  return Placed{{inputs, signature->input_count}, {outputs, signature->output_count}};
}

Result<std::unique_ptr<ModelRun>> ModelRun::make(const TestedExecutor& executor,
                                                 const GoldenRun& golden, const RunSetup& setup) {
  std::unique_ptr<ModelRun> made(new ModelRun(executor, golden));
  GANTRY_TRY(const std::uint32_t function, executor.model().function(golden.function));
  GANTRY_TRY(const gantry_signature* const signature, executor.model().signature(function));
  GANTRY_TRY(made->placed_, executor.placements(function));
  for (const auto& [name, value] : golden.inputs) {
    const auto has_name = [&](const gantry_parameter* input) {
      return view_of(input->name) == name;
    };
    if (std::none_of(signature->inputs, signature->inputs + signature->input_count, has_name))
      return bug("the function has no input ", quoted(name), ", a golden run has it");
  }
  for (std::uint32_t i = 0; i < signature->input_count; ++i)
    GANTRY_CHECK(made->place(*signature->inputs[i], made->placed_.inputs[i], setup));
  made->are_stated_ = (signature->flags & GANTRY_SIGNATURE_OUTPUTS) != 0;
  for (std::uint32_t i = 0; i < signature->output_count; ++i)
    GANTRY_CHECK(made->add_target(*signature->outputs[i], made->placed_.outputs[i], setup));
  gantry_executor_run& record = made->record_;
  record.struct_size = sizeof record;
  record.function = function;
  record.input_count = signature->input_count;
  record.inputs = made->inputs_.empty() ? nullptr : made->inputs_.data();
  record.outputs = made->outputs_.empty() ? nullptr : made->outputs_.data();
  record.output_count = signature->output_count;
  return made;
}

ModelRun::~ModelRun() {
  for (const gantry_value& output : outputs_) {
    if (output.kind != GANTRY_TENSOR_REF) Value::adopt(output);
  }
  Value::adopt(record_.result);
}

gantry_tensor* ModelRun::guarded(const gantry_placement& at, gantry_dtype dtype,
                                 std::span<const std::int64_t> shape,
                                 std::span<const std::uint8_t> bytes, GuardedBytes::Access access) {
  auto made = std::make_unique<Guarded>();
  made->shape.assign(shape.begin(), shape.end());
  // An odd multiple of the alignment, as near to the unmapped page as possible.
  const std::size_t step = std::size_t{2} * at.alignment;
  const std::size_t before = (step - (bytes.size() + at.alignment) % step) % step;
  made->bytes = std::make_unique<GuardedBytes>(bytes, before, access);
  made->tensor = compact_tensor(dtype, made->shape, at.device, made->bytes->bytes().data());
  return &guarded_.emplace_back(std::move(made))->tensor;
}

Status ModelRun::place(const gantry_parameter& input, const gantry_placement& at,
                       const RunSetup& setup) {
  const auto given = std::ranges::find(golden_.inputs, view_of(input.name),
                                       &std::pair<std::string, GoldenValue>::first);
  if (given == golden_.inputs.end()) {
    inputs_.push_back({});
    if ((input.flags & GANTRY_PARAMETER_OPTIONAL) != 0) return {};
    return bug("a golden run has no input ", quoted(view_of(input.name)));
  }
  const GoldenValue& golden = given->second;
  if (golden.kind != Kind::tensor) {
    gantry_value value{};
    if (golden.kind == Kind::integer) value = int_value(golden.integer);
    if (golden.kind == Kind::boolean) value = bool_value(golden.integer != 0);
    if (golden.kind == Kind::number) value = float_value(golden.number);
    if (golden.kind == Kind::text) {
      GANTRY_TRY(Value text, new_text(GANTRY_STRING, golden.text));
      value = owned_.emplace_back(std::move(text)).get();
    }
    inputs_.push_back(value);
    return {};
  }
  const GoldenTensor& tensor = golden.tensor;
  std::vector<std::uint8_t> bytes = tensor.bytes;
  if (setup.zeros) std::ranges::fill(bytes, std::uint8_t{0});
  const DeviceSet& devices = executor_.model().state().devices;
  const auto fill = [&](const gantry_tensor& to) {
    const gantry_tensor from = compact_tensor(tensor.dtype, tensor.shape, {kCpu, 0}, bytes.data());
    return tensor_copy(devices, from, to, nullptr);
  };
  const bool must_use_own = (at.flags & GANTRY_PLACEMENT_OWN_ONLY) != 0;
  if (must_use_own || (setup.uses_own && at.own != nullptr)) {
    if (at.own == nullptr) return bug("a placement has OWN_ONLY and no own memory");
    GANTRY_CHECK(fill(*at.own));
    inputs_.push_back(tensor_ref_value(const_cast<gantry_tensor*>(at.own)));
    return {};
  }
  const bool is_kept = (at.flags & GANTRY_PLACEMENT_KEPT) != 0;
  const bool is_written = (input.flags & GANTRY_PARAMETER_WRITTEN) != 0;
  if (setup.is_guarded && !is_kept && at.device.type == kCpu && at.alignment <= 2048) {
    inputs_.push_back(tensor_ref_value(
        guarded(at, tensor.dtype, tensor.shape, bytes,
                is_written ? GuardedBytes::Access::writable : GuardedBytes::Access::read_only)));
    return {};
  }
  GANTRY_TRY(Ref<TensorObject> made,
             tensor_new(devices, compact_tensor(tensor.dtype, tensor.shape, at.device)));
  GANTRY_CHECK(fill(made->tensor));
  gantry_tensor* const by_reference = &made->tensor;
  const Value& owned = owned_.emplace_back(owned_value(std::move(made)));
  inputs_.push_back(is_kept ? owned.get() : tensor_ref_value(by_reference));
  return {};
}

Status ModelRun::add_target(const gantry_parameter& output, const gantry_placement& at,
                            const RunSetup& setup) {
  gantry_value& target = outputs_.emplace_back();
  if (!setup.fills || !is_fixed_tensor(output)) return {};
  const DeviceSet& devices = executor_.model().state().devices;
  const gantry_tensor like = compact_tensor(output.dtype, extents_of(output), at.device);
  if (setup.is_guarded && at.device.type == kCpu && at.alignment <= 2048) {
    GANTRY_TRY(const std::uint64_t size, data_bytes(like));
    const std::vector<std::uint8_t> bytes(size, 0xa5);
    target = tensor_ref_value(
        guarded(at, output.dtype, extents_of(output), bytes, GuardedBytes::Access::writable));
    return {};
  }
  GANTRY_TRY(Ref<TensorObject> made, tensor_new(devices, like));
  target = tensor_ref_value(&made->tensor);
  owned_.push_back(owned_value(std::move(made)));
  return {};
}

Status ModelRun::run(const void* task) {
  const gantry_env env{executor_.model().devices().front(), nullptr, task, nullptr};
  Status ran = called("run", [&](gantry_status* status) {
    return executor_.table().run(executor_.self(), &env, &record_, status);
  });
  const Status done = executor_.model().synchronize();
  return ran.ok() ? done : ran;
}

Result<std::vector<gantry_value>> ModelRun::outputs() const {
  if (are_stated_) return outputs_;
  if (record_.result.kind != GANTRY_ARRAY)
    return bug("run returns kind ", record_.result.kind, ", expected an array of the outputs");
  GANTRY_TRY(const auto items, items_in(record_.result));
  return std::vector<gantry_value>(items.begin(), items.end());
}

Status ModelRun::check(double tolerance) const {
  GANTRY_TRY(const std::vector<gantry_value> found, outputs());
  if (found.size() != golden_.outputs.size()) {
    return bug("run returns ", found.size(), " outputs, a golden run has ", golden_.outputs.size());
  }
  for (std::size_t i = 0; i < found.size(); ++i) {
    const gantry_tensor* const tensor = gantry_value_tensor(&found[i]);
    const std::int32_t type = tensor != nullptr ? tensor->device.type : kCpu;
    GANTRY_TRY(const auto device, executor_.model().state().devices.get(type));
    if (tensor != nullptr && !is_compact(*tensor))
      return bug("output ", i, " is not compact: ", tensor_text(*tensor));
    Status compared = compare_result(*device, found[i], golden_.outputs[i], tolerance);
    if (!compared.ok()) return std::move(compared).failure().at("in output ", i);
  }
  return {};
}

Status ModelRun::check_untouched() const {
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    if (outputs_[i].kind != GANTRY_NONE && outputs_[i].kind != GANTRY_TENSOR_REF)
      return bug("a run fails and writes output ", i, " of kind ", outputs_[i].kind);
  }
  if (record_.result.kind == GANTRY_NONE) return {};
  return bug("a run fails and writes a result of kind ", record_.result.kind);
}

void ModelRun::revoke() {
  for (const std::unique_ptr<Guarded>& each : guarded_) each->bytes->revoke();
}

Status check_run(const TestedExecutor& executor, const Payload& payload, const GoldenRun& run,
                 const RunSetup& setup, const void* task) {
  const auto check = [&]() -> Status {
    GANTRY_TRY(const auto made, ModelRun::make(executor, run, setup));
    GANTRY_CHECK(made->run(task));
    return made->check(payload.tolerance);
  };
  Status done = check();
  if (done.ok()) return done;
  return std::move(done).failure().at("in function ",
                                      quoted(run.function.empty() ? "(default)" : run.function));
}

Status check_runs(const TestedExecutor& executor, const Payload& payload, const RunSetup& setup) {
  for (const GoldenRun& run : payload.runs) GANTRY_CHECK(check_run(executor, payload, run, setup));
  return {};
}

}  // namespace gantry::kit
