// SPDX-License-Identifier: Apache-2.0
#include "core/engine/runtime/vm_model.hpp"

#include "core/engine/module/module_graph.hpp"
#include "core/engine/runtime/input_device.hpp"
#include "core/engine/runtime/state.hpp"
#include "core/engine/tensor/tensor.hpp"
#include "core/engine/tensor/value_content.hpp"
#include "core/formats/annotation.hpp"
#include "core/formats/details.hpp"
#include "core/formats/type_key.hpp"
#include "core/formats/vm_details.hpp"

#include <gantry/compact_tensor.hpp>
#include <gantry/device_name.hpp>
#include <gantry/join.hpp>
#include <gantry/quoted.hpp>
#include <gantry/tensor_text.hpp>
#include <gantry/utf8.hpp>
#include <gantry/value.hpp>
#include <gantry/zero_copy.hpp>

#include <map>
#include <optional>

namespace gantry {
namespace {

// The description of the executable in the file; empty if there is none.
Detail described_executable(const ModuleNode& module, const PayloadLayouts& layouts) {
  const Artifact& artifact = *module.artifact;
  for (const Entry& entry : artifact.container.entries) {
    if (is_virtual_machine(entry.type_key))
      return describe_payload(entry, artifact.container.facts, layouts).root;
  }
  return {};
}

ParameterInfo input_of(std::string name, const Detail* annotations) {
  ParameterInfo input{.name = std::move(name)};
  const Detail* const annotation = annotations != nullptr ? annotations->find(input.name) : nullptr;
  if (annotation == nullptr) return input;
  input.type_text = annotation->value;
  if (auto tensor = tensor_annotation(annotation->value)) {
    input.type = std::move(tensor->type);
    input.type_text = std::move(tensor->text);
  }
  if (is_tuple(annotation->value)) {
    input.kind = GANTRY_ARRAY;
  } else if (accepts_tensor(annotation->value) && !input.type_text.empty()) {
    input.kind = GANTRY_TENSOR;
  }
  return input;
}

// The results of a function, those of tuples one by one; nullopt if the file does not state the type of
// each.
std::optional<std::vector<ParameterInfo>> results_of(const Detail* described) {
  const Detail* const annotation = described != nullptr ? described->find("returns") : nullptr;
  if (annotation == nullptr) return std::nullopt;
  const std::vector<std::string_view> all = flat_annotations(annotation->value);
  std::vector<ParameterInfo> results;
  for (std::size_t i = 0; i < all.size(); ++i) {
    auto tensor = tensor_annotation(all[i]);
    if (!tensor) return std::nullopt;
    results.push_back({.name = output_name(i, all.size()),
                       .type = std::move(tensor->type),
                       .type_text = std::move(tensor->text),
                       .kind = GANTRY_TENSOR});
  }
  return results;
}

class VmFunction final : public FunctionState {
 public:
  // results  [in]   as results_of() returns them
  VmFunction(std::shared_ptr<RuntimeState> runtime, std::string function,
             std::vector<ParameterInfo> parameters,
             std::optional<std::vector<ParameterInfo>> results, Ref<ModuleNode> machine,
             Ref<FunctionObject> call, InputDevice device)
      : FunctionState(std::move(function), std::move(parameters), std::move(machine), device.id),
        runtime_(std::move(runtime)),
        call_(std::move(call)),
        device_(device),
        stated_results_(std::move(results)) {}

  std::string subject() const override { return concat("function ", quoted(name)); }

  Result<std::vector<NamedOutput>> outputs() const override {
    return named_items(result_, "output",
                       [](const Value& value) -> Result<std::optional<std::vector<Value>>> {
                         if (value.get().kind != GANTRY_ARRAY)
                           return std::optional<std::vector<Value>>();
                         GANTRY_TRY(const auto parts, items_in(value.get()));
                         std::vector<Value> items;
                         for (const gantry_value& part : parts) items.push_back(Value::share(part));
                         return std::optional(std::move(items));
                       });
  }

  Status call(std::span<const gantry_value> values, const gantry_env* env,
              InputCopies& copies) override {
    values_.assign(values.begin(), values.end());
    for (std::size_t i = 0; i < values.size(); ++i) {
      const gantry_tensor* const tensor = gantry_value_tensor(&values[i]);
      if (tensor == nullptr) continue;
      // A machine may keep tensors, which are objects then.
      if (values[i].kind == GANTRY_TENSOR &&
          device_.accepts(*tensor, in_place_alignment_since_v0_10))
        continue;
      GANTRY_CHECK(copies.add(*this, i, values[i]));
      GANTRY_TRY(Value copy, copied(*tensor, env));
      values_[i] = copies_.emplace_back(std::move(copy)).get();
    }
    return call_machine(env);
  }
  void forget() override {
    values_.clear();
    copies_.clear();
    result_ = Value();
  }
  bool reuses_outputs() const override { return false; }
  Result<std::optional<std::vector<ParameterInfo>>> stated_outputs() const override {
    return stated_results_;
  }

 private:
  Result<Value> copied(const gantry_tensor& tensor, const gantry_env* env) {
    const DeviceSet& devices = runtime_->devices;
    GANTRY_TRY(Ref<TensorObject> copy,
               tensor_new(devices, compact_tensor(tensor.dtype, shape_of(tensor), device_.id)));
    GANTRY_CHECK(tensor_copy(devices, tensor, copy->tensor, env));
    return owned_value(std::move(copy));
  }
  Status call_machine(const gantry_env* env) {
    auto result = gantry::call(*call_, env, values_);
    if (!result.ok()) return std::move(result).failure().at("in ", subject());
    result_ = std::move(*result);
    return {};
  }

  std::shared_ptr<RuntimeState> runtime_;
  Ref<FunctionObject> call_;
  // of the inputs: the first one of the machine
  InputDevice device_;
  std::optional<std::vector<ParameterInfo>> stated_results_;
  // of a call: its arguments, and tensors that are copied for it
  std::vector<gantry_value> values_;
  std::vector<Value> copies_;
  Value result_;
};

struct MachineFunctions {
  std::vector<std::string> names;
  // of the function of a name
  Ref<FunctionObject> arity, parameter_name;

  Result<std::int64_t> arity_of(const std::string& function) const {
    const gantry_value args[] = {cstring_value(function.c_str())};
    GANTRY_TRY(const Value answer, call(*arity, nullptr, args));
    return integer_in(answer.get());
  }

  Result<std::vector<std::string>> parameters(const std::string& function) const {
    GANTRY_TRY(const std::int64_t count, arity_of(function));
    std::vector<std::string> parameters;
    for (std::int64_t i = 0; i < count; ++i) {
      // Executables need not have the names.
      std::string& name = parameters.emplace_back(concat(i));
      const gantry_value args[] = {cstring_value(function.c_str()), int_value(i)};
      if (const auto named = call(*parameter_name, nullptr, args); named.ok()) {
        GANTRY_TRY(name, text_in(named->get()));
      }
    }
    return parameters;
  }

  static Result<MachineFunctions> of(ModuleNode& machine) {
    MachineFunctions functions;
    GANTRY_TRY(functions.arity, find_function(machine, own_or_imported, "get_function_arity"));
    GANTRY_TRY(functions.parameter_name,
               find_function(machine, own_or_imported, "get_function_param_name"));
    GANTRY_TRY(functions.names, list_functions(machine));
    // The machine's own ones, such as get_function_arity, have no arity.
    std::erase_if(functions.names, [&](const std::string& name) {
      const gantry_value args[] = {cstring_value(name.c_str())};
      return !call(*functions.arity, nullptr, args).ok();
    });
    return functions;
  }
};

class VmModel final : public ModelState {
 public:
  VmModel(const ModelSource& source, Ref<ModuleNode> machine, MachineFunctions own,
          InputDevice device)
      : ModelState(std::move(machine), own.names, "main"),
        runtime_(source.runtime),
        functions_(std::move(own)),
        executable_(source.module),
        device_(device) {}

  Result<std::shared_ptr<FunctionState>> function(const std::string& name) override {
    GANTRY_TRY(std::vector<std::string> names, functions_.parameters(name));
    GANTRY_TRY(Ref<FunctionObject> call, find_function(*module, own_or_imported, name));
    const Detail* const described = description_of(name);
    const Detail* const annotations =
        described != nullptr ? described->find("annotations") : nullptr;
    std::vector<ParameterInfo> inputs;
    for (std::string& input : names) inputs.push_back(input_of(std::move(input), annotations));
    return std::make_shared<VmFunction>(runtime_, name, std::move(inputs), results_of(described),
                                        module, std::move(call), device_);
  }

  std::string text_of(const std::string& name) const override {
    std::string text = ModelState::text_of(name);
    const auto names = functions_.parameters(name);
    if (names.ok()) append_escaped(text, concat("(", join(*names), ")"));
    return text;
  }

 private:
  const Detail* description_of(std::string_view name) {
    if (!described_) described_ = described_executable(*executable_, runtime_->layouts);
    const Detail* const all = described_->find("functions");
    return all != nullptr ? all->find(name) : nullptr;
  }

  std::shared_ptr<RuntimeState> runtime_;
  MachineFunctions functions_;
  Ref<ModuleNode> executable_;
  // of the inputs: the first one of the machine
  InputDevice device_;
  // nullopt: not read yet
  std::optional<Detail> described_;
};

}  // namespace

Result<std::shared_ptr<ModelState>> vm_model(const ModelSource& source, FunctionObject& load) {
  if (source.capture)
    return unsupported("the model is a virtual machine, only graphs can be recorded (capture)");
  RuntimeState& runtime = *source.runtime;
  auto machine = made_for(runtime, load, source.devices);
  if (!machine.ok()) return std::move(machine).failure().at("while making a virtual machine");
  GANTRY_TRY(MachineFunctions functions, MachineFunctions::of(**machine));
  GANTRY_TRY(const gantry_device_id first, find_device(runtime, source.devices.front()));
  GANTRY_TRY(const InputDevice device, InputDevice::find(runtime, first));
  return std::make_shared<VmModel>(source, std::move(*machine), std::move(functions), device);
}

}  // namespace gantry
