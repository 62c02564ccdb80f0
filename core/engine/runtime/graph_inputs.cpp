// SPDX-License-Identifier: Apache-2.0
#include "core/engine/runtime/graph_inputs.hpp"

#include "core/engine/module/module_graph.hpp"
#include "core/engine/runtime/model_state.hpp"
#include "core/engine/runtime/state.hpp"
#include "core/engine/tensor/tensor.hpp"
#include "core/engine/tensor/value_content.hpp"

#include <utility>

namespace gantry {

Result<GraphInputs> GraphInputs::find(std::shared_ptr<RuntimeState> runtime, ModuleNode& executor,
                                      std::span<const ParameterInfo> inputs, bool in_place) {
  GraphInputs found(std::move(runtime));
  GANTRY_TRY(found.set_input_, find_function(executor, own_or_imported, "set_input"));
  for (const ParameterInfo& input : inputs)
    found.inputs_.push_back({.name = input.name, .own = {}});
  if (!in_place) return found;
  GANTRY_TRY(found.set_input_zero_copy_,
             find_function(executor, own_or_imported, "set_input_zero_copy"));
  GANTRY_TRY(const Ref<FunctionObject> get_input,
             find_function(executor, own_or_imported, "get_input"));
  for (Input& input : found.inputs_) {
    const gantry_value name = cstring_value(input.name.c_str());
    GANTRY_TRY(Value tensor, call(*get_input, nullptr, {&name, 1}));
    if (tensor.get().kind != GANTRY_TENSOR) return wrong_kind(tensor.get(), "a tensor");
    GANTRY_TRY(const InputDevice device,
               InputDevice::find(*found.runtime_, gantry_value_tensor(&tensor.get())->device));
    input.own = Own{std::move(tensor), device};
  }
  return found;
}

Status GraphInputs::assign(FunctionObject& function, const Input& input, const gantry_value& value,
                           const gantry_env* env) {
  const gantry_value args[] = {cstring_value(input.name.c_str()), value};
  GANTRY_CHECK(call(function, env, args));
  return {};
}

Status GraphInputs::set(const FunctionState& function, std::size_t index, const gantry_value& value,
                        const gantry_env* env, InputCopies& copies) {
  Input& input = inputs_[index];
  const gantry_tensor& tensor = *gantry_value_tensor(&value);
  if (input.own && input.own->device.accepts(tensor, in_place_alignment)) {
    Status bound = assign(*set_input_zero_copy_, input, value, env);
    // An input that is also an output has one memory, that of the executor.
    if (bound.ok() || bound.error().reason != "ZERO_COPY") {
      input.is_bound = bound.ok();
      return bound;
    }
  }
  GANTRY_CHECK(copies.add(function, index, value));
  if (!input.own) return assign(*set_input_, input, value, env);
  // set_input would allocate memory for an input that was bound once.
  return tensor_copy(runtime_->devices, tensor, *gantry_value_tensor(&input.own->tensor.get()),
                     env);
}

void GraphInputs::release() {
  for (Input& input : inputs_) {
    if (!std::exchange(input.is_bound, false)) continue;
    // A failure, out of memory, leaves memory bound that no run reads: each sets all inputs first.
    static_cast<void>(assign(*set_input_zero_copy_, input, input.own->tensor.get(), nullptr).ok());
  }
}

}  // namespace gantry
