// SPDX-License-Identifier: Apache-2.0
#include "subgraph_program.hpp"

#include "subgraph_plugin.hpp"

#include <gantry/compact_tensor.hpp>
#include <gantry/quoted.hpp>
#include <gantry/tensor_text.hpp>

#include <algorithm>
#include <array>
#include <optional>

namespace gantry::cuda_libraries {

SubgraphProgram::SubgraphProgram(SubgraphHost& plugin, const SubgraphCode& code,
                                 std::span<const Value> constants)
    : plugin_(plugin), code_(code), constants_(constants.begin(), constants.end()) {}

Result<std::unique_ptr<SubgraphProgram>> SubgraphProgram::build(SubgraphHost& plugin,
                                                                const SubgraphCode& code,
                                                                std::span<const Value> constants) {
  auto made = std::make_unique<SubgraphProgram>(plugin, code, constants);
  const Subgraph& graph = code.graph;
  std::vector<bool> is_written(graph.entries.size());
  for (const SubgraphNode& node : graph.nodes) {
    if (node.kind != SubgraphNodeKind::kernel) continue;
    auto work = read_operator(code.type_key, node);
    if (!work.ok()) {
      Failure failure = std::move(work).failure();
      if (failure.error().code != Code::unsupported) return failure;
      return std::move(failure).at("plugins.overrides in runtime.yaml can name gantry.dnnl for ",
                                   quoted(code.type_key), ", which runs it on the CPU");
    }
    made->steps_.push_back({&node, *std::move(work)});
    is_written[node.first_entry] = true;
    const TensorType& type = graph.entries[node.first_entry];
    const bool is_output =
        std::ranges::find(graph.outputs, node.first_entry) != graph.outputs.end();
    if (!is_output && std::ranges::any_of(type.shape, [](std::int64_t n) { return n < 0; })) {
      return unsupported("operator ", quoted(node.name), " has a result of ",
                         type_text(type.dtype, type.shape),
                         " for another operator, supported are extents that the sub-graph states")
          .with_reason("SUBGRAPH_OPERATOR");
    }
    if (!is_output) GANTRY_CHECK(tensor_bytes(type.shape, type.dtype));
  }
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    const std::uint32_t entry = graph.outputs[i];
    const auto earlier = std::span(graph.outputs).first(i);
    if (is_written[entry] && std::ranges::find(earlier, entry) == earlier.end()) continue;
    return unsupported("output ", i, " is no operator's own result, which is not supported")
        .with_reason("SUBGRAPH_OPERATOR");
  }
  return made;
}

Result<const SubgraphProgram::Copies*> SubgraphProgram::copies_on(const gantry_env& env,
                                                                  gantry_device_id device) const {
  const std::lock_guard lock(mutex_);
  for (const auto& copies : copies_) {
    if (same_device(copies->device, device)) return copies.get();
  }
  GANTRY_TRY(const Session session, begin_session(plugin_.services, env, device));
  if (session.is_captured()) {
    return unsupported(
               "constants are copied to the device by the first run, which must not be "
               "captured")
        .with_reason("CAPTURE");
  }
  auto made = std::make_unique<Copies>();
  made->device = device;
  for (const Value& constant : constants_) {
    // complete on return: other streams may read it
    GANTRY_TRY(Value copy, plugin_.host.tensor_copied(*constant.tensor(), device, nullptr));
    made->tensors.push_back(std::move(copy));
  }
  copies_.push_back(std::move(made));
  return copies_.back().get();
}

Status SubgraphProgram::run(const gantry_env* env,
                            std::span<const gantry_tensor* const> arguments) const {
  if (arguments.empty()) return {};
  for (const gantry_tensor* const argument : arguments) {
    if (same_device(argument->device, arguments[0]->device)) continue;
    return invalid("tensors are on ", device_text(arguments[0]->device), " and ",
                   device_text(argument->device), ", expected one device")
        .with_reason("ARGUMENT_DEVICE");
  }
  Services& services = plugin_.services;
  const gantry_device_id device = arguments[0]->device;
  const Subgraph& graph = code_.graph;

  // Tensors by entry. Most sub-graphs have one operator.
  constexpr std::size_t max_on_stack = 16;
  std::array<gantry_tensor, max_on_stack> few{};
  std::vector<gantry_tensor> many;
  if (graph.entries.size() > max_on_stack) many.resize(graph.entries.size());
  const std::span<gantry_tensor> tensors(many.empty() ? few.data() : many.data(),
                                         graph.entries.size());
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::size_t inputs = graph.inputs.size();
    tensors[i < inputs ? graph.inputs[i] : graph.outputs[i - inputs]] = *arguments[i];
  }
  if (!constants_.empty()) {
    GANTRY_TRY(const Copies* const copies, copies_on(*env, device));
    for (std::size_t i = 0; i < constants_.size(); ++i)
      tensors[graph.constants[i]] = *copies->tensors[i].tensor();
  }
  // For results that operators exchange, which few sub-graphs have.
  std::optional<Session> session;
  std::vector<Session::Memory> results;
  for (const Step& step : steps_) {
    GANTRY_CHECK(services.host.check_task(env));
    const SubgraphNode& node = *step.node;
    gantry_tensor& output = tensors[node.first_entry];
    // not an argument
    if (output.device.type == 0) {
      if (!session) {
        GANTRY_TRY(Session begun, begin_session(services, *env, device));
        session.emplace(std::move(begun));
      }
      if (session->is_captured()) {
        return unsupported(
                   "a result that operators exchange needs memory, which a captured run "
                   "does not have")
            .with_reason("CAPTURE");
      }
      const TensorType& type = graph.entries[node.first_entry];
      GANTRY_TRY(const std::uint64_t bytes, tensor_bytes(type.shape, type.dtype));
      GANTRY_TRY(Session::Memory memory, session->allocate(bytes));
      output = compact_tensor(type.dtype, type.shape, device, memory.data());
      results.push_back(std::move(memory));
    }
    constexpr std::size_t max_inputs = 3;
    std::array<gantry_tensor, max_inputs> inputs{};
    for (std::size_t i = 0; i < node.inputs.size(); ++i) inputs[i] = tensors[node.inputs[i]];
    Status done =
        step.work->run({services, env, std::span(inputs).first(node.inputs.size()), output});
    if (!done.ok())
      return std::move(done).failure().at("in operator ", quoted(node.name), " of sub-graph ",
                                          quoted(code_.payload.symbol));
  }
  return {};
}

}  // namespace gantry::cuda_libraries
