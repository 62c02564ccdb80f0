// SPDX-License-Identifier: Apache-2.0
#include "model_executor.hpp"

#include "core/formats/model_signature.hpp"

#include <gantry/device_name.hpp>
#include <gantry/parameter_info.hpp>
#include <gantry/zero_copy.hpp>

#include <algorithm>
#include <string>
#include <utility>

namespace gantry::aot {
namespace {

ParameterInfo info_of(std::string name, const AotTensor& tensor) {
  return {.name = std::move(name),
          .type = TensorType{tensor.dtype, tensor.shape},
          .type_text = type_text(tensor.dtype, tensor.shape),
          .kind = GANTRY_TENSOR};
}

constexpr gantry_device_id host_device{cpu_device_type, 0};

}  // namespace

std::vector<std::size_t> model_inputs(const AotMetadata& metadata,
                                      std::span<const Parameter> parameters) {
  std::vector<std::size_t> inputs;
  for (std::size_t i = 0; i < metadata.inputs.size(); ++i) {
    if (std::ranges::find(parameters, metadata.inputs[i].name, &Parameter::name) ==
        parameters.end())
      inputs.push_back(i);
  }
  return inputs;
}

std::unique_ptr<const Signature> signature_of(const AotMetadata& metadata,
                                              std::span<const std::size_t> inputs) {
  std::vector<ParameterInfo> in, out;
  for (const std::size_t input : inputs)
    in.push_back(info_of(std::string(metadata.inputs[input].name), metadata.inputs[input]));
  const std::size_t count = metadata.outputs.size();
  for (std::size_t i = 0; i < count; ++i)
    out.push_back(
        info_of(compiled_output_name(metadata.outputs[i].name, i, count), metadata.outputs[i]));
  return std::make_unique<const Signature>(std::move(in), std::move(out));
}

ModelExecutor::ModelExecutor(std::unique_ptr<Executor> executor,
                             std::span<const std::size_t> inputs)
    : executor_(std::move(executor)), inputs_(inputs) {
  constexpr auto alignment = static_cast<std::uint32_t>(in_place_alignment);
  Memory& memory = executor_->memory();
  // Their addresses are in placements.
  own_.reserve(inputs_.size());
  for (const std::size_t input : inputs_) {
    own_.push_back(memory.cell(input));
    placements_.inputs.push_back({host_device, alignment, 0, &own_.back()});
  }
  for (std::size_t i = 0; i < executor_->metadata().outputs.size(); ++i) {
    own_outputs_.push_back(memory.cell(memory.output(i)).data);
    placements_.outputs.push_back({host_device, alignment, GANTRY_PLACEMENT_REUSED, nullptr});
  }
}

Status ModelExecutor::run(const gantry_env& env, ExecutorRun& run) {
  Memory& memory = executor_->memory();
  for (std::size_t i = 0; i < inputs_.size(); ++i)
    memory.cell(inputs_[i]).data = element_address(*gantry_value_tensor(&run.inputs()[i]));
  for (std::uint32_t i = 0; i < own_outputs_.size(); ++i) {
    const gantry_tensor* const target = run.target(i);
    memory.cell(memory.output(i)).data =
        target != nullptr ? element_address(*target) : own_outputs_[i];
  }
  StatusBuffer status;
  if (const gantry_code code = executor_->run(&env, status.get())) return status.error(code, "run");
  for (std::uint32_t i = 0; i < own_outputs_.size(); ++i) {
    if (run.target(i) == nullptr) run.set_output(i, memory.tensor(memory.output(i)));
  }
  return {};
}

}  // namespace gantry::aot
