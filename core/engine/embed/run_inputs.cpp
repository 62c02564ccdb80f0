// SPDX-License-Identifier: Apache-2.0
#include "core/engine/embed/run_inputs.hpp"

#include "core/engine/embed/arguments.hpp"
#include "core/engine/embed/strided_copy.hpp"
#include "core/engine/tensor/tensor.hpp"

#include <gantry/kind_text.hpp>
#include <gantry/quoted.hpp>
#include <gantry/tensor_text.hpp>
#include <gantry/value.hpp>

#include <string>

namespace gantry {
namespace {

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

}  // namespace

Result<OrderedInputs> ordered_inputs(const FunctionState& function, const gantry_run& run,
                                     const RuntimeState& runtime, const gantry_env* env,
                                     InputCopies& copies) {
  auto inputs = in_order(function, run, runtime, env, copies);
  if (inputs.ok() || inputs.error().reason != "INPUT") return inputs;
  return std::move(inputs).failure().at("inputs of ", function.subject(), ": ",
                                        inputs_text(function.inputs));
}

}  // namespace gantry
