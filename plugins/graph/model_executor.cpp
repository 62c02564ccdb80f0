// SPDX-License-Identifier: Apache-2.0
#include "model_executor.hpp"

#include <gantry/parameter_info.hpp>
#include <gantry/zero_copy.hpp>

#include <set>
#include <string_view>
#include <utility>

namespace gantry::graph {
namespace {

ParameterInfo info_of(std::string name, const GraphEntry& entry) {
  return {.name = std::move(name),
          .type = TensorType{entry.dtype, entry.shape},
          .type_text = type_text(entry),
          .kind = GANTRY_TENSOR};
}

}  // namespace

Result<std::vector<std::uint32_t>> model_inputs(const Source& source, const gantry_env* env) {
  const Graph& graph = source.payload->graph;
  std::set<std::string_view> parameters;
  if (source.with_parameters) {
    for (const Parameter* each : source.payload->parameters) parameters.insert(each->name);
  }
  GANTRY_TRY(const LinkedConstants linked, LinkedConstants::find(source.host, source.node));
  std::vector<std::uint32_t> inputs;
  for (std::uint32_t i = 0; i < graph.inputs.size(); ++i) {
    if (parameters.contains(graph.input(i).name)) continue;
    const std::int64_t id = graph.entries[graph.input_entry(i)].storage_id;
    GANTRY_TRY(const void* const constant, linked.data(source.host, id, env));
    if (constant == nullptr) inputs.push_back(i);
  }
  return inputs;
}

std::unique_ptr<const Signature> signature_of(const Graph& graph,
                                              std::span<const std::uint32_t> inputs) {
  std::vector<ParameterInfo> in, out;
  for (const std::uint32_t input : inputs)
    in.push_back(info_of(graph.input(input).name, graph.entries[graph.input_entry(input)]));
  for (std::size_t i = 0; i < graph.heads.size(); ++i) {
    std::string name = graph.output_names.empty() ? gantry::output_name(i, graph.heads.size())
                                                  : graph.output_names[i];
    out.push_back(info_of(std::move(name), graph.entries[graph.heads[i].entry]));
  }
  return std::make_unique<const Signature>(std::move(in), std::move(out));
}

ModelExecutor::ModelExecutor(std::unique_ptr<Executor> executor,
                             std::span<const std::uint32_t> inputs, bool is_capturing)
    : executor_(std::move(executor)), inputs_(inputs) {
  const Graph& graph = executor_->graph();
  std::set<const void*> written;
  for (const GraphOutput& head : graph.heads) {
    const gantry_tensor& cell = memory().cell(head.entry);
    const bool is_own = memory().binding(head.entry).owner == Owner::executor;
    const bool is_copied = is_capturing || !is_own || memory().holds_input(head.entry) ||
                           !written.insert(memory().value_id(head.entry)).second;
    outputs_.push_back({head.entry, cell.data, is_copied});
    placements_.outputs.push_back({cell.device, static_cast<std::uint32_t>(in_place_alignment),
                                   GANTRY_PLACEMENT_REUSED, nullptr});
  }
  // Their addresses are in placements.
  own_.reserve(inputs_.size());
  for (const std::uint32_t input : inputs_) {
    const std::uint32_t entry = graph.input_entry(input);
    own_.push_back(memory().cell(entry));
    const bool is_fixed = is_capturing || !memory().is_one_input(entry);
    placements_.inputs.push_back(
        {own_.back().device, static_cast<std::uint32_t>(in_place_alignment),
         is_fixed ? std::uint32_t{GANTRY_PLACEMENT_OWN_ONLY} : 0u, &own_.back()});
  }
}

Status ModelExecutor::run(const gantry_env& env, ExecutorRun& run) {
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const std::uint32_t entry = executor_->graph().input_entry(inputs_[i]);
    memory().point(entry, element_address(*gantry_value_tensor(&run.inputs()[i])));
  }
  for (std::uint32_t i = 0; i < outputs_.size(); ++i) {
    const Output& output = outputs_[i];
    if (output.is_copied) continue;
    const gantry_tensor* const target = run.target(i);
    memory().point(output.entry, target != nullptr ? element_address(*target) : output.own);
  }
  StatusBuffer status;
  if (const gantry_code code = executor_->run(&env, status.get())) return status.error(code, "run");
  for (std::uint32_t i = 0; i < outputs_.size(); ++i) {
    const Output& output = outputs_[i];
    if (const gantry_tensor* const target = run.target(i)) {
      if (!output.is_copied) continue;
      GANTRY_CHECK(executor_->host().tensor_copy(memory().cell(output.entry), *target, &env));
    } else if (output.is_copied) {
      // Its cell may point to memory of the caller.
      GANTRY_TRY(Value copy, executor_->host().tensor_new(memory().cell(output.entry)));
      GANTRY_CHECK(
          executor_->host().tensor_copy(memory().cell(output.entry), *copy.tensor(), &env));
      run.set_output(i, std::move(copy));
    } else {
      run.set_output(i, memory().tensor(output.entry));
    }
  }
  return {};
}

}  // namespace gantry::graph
