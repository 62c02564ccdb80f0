// SPDX-License-Identifier: Apache-2.0
#include "factory.hpp"

#include "executor.hpp"
#include "plugin.hpp"

#include "core/formats/stated_devices.hpp"

#include <gantry/quoted.hpp>

#include <algorithm>

namespace gantry::graph {

Result<std::unique_ptr<Factory>> Factory::load(Plugin& plugin, Blob& blob) {
  GANTRY_TRY(auto payload, read_payload(blob));
  return std::make_unique<Factory>(Source{plugin.host, blob.node(), std::move(payload)});
}

std::array<Method<Factory>, 6> Factory::functions() const {
  std::array all{method<&Factory::create, "default(device, ...)">,
                 method<&Factory::debug_create, "debug_create(module name, device, ...)">,
                 method<&Factory::cuda_graph_create, "cuda_graph_create(device, ...)">,
                 method<&Factory::remove_params, "remove_params()">,
                 method<&Factory::get_graph_json, "get_graph_json()">,
                 method<&Factory::get_graph_params, "get_graph_params()">};
  all[0].name = source_.payload->list.module_name;
  return all;
}

Factory::Factory(Source source) : source_(std::move(source)) {
  info_.functions.emplace_back(source_.payload->list.module_name);
  info_.default_function = 0;
  info_.prepare();
}

// The devices that the graph states, and what its signature is.
Status Factory::read_model() {
  const std::lock_guard lock(mutex_);
  if (is_read_) return {};
  GANTRY_CHECK(source_.payload->parse_graph());
  const StatedDevices stated = stated_devices(source_.payload->graph);
  if (stated.are_alternatives) info_.flags |= GANTRY_MODEL_ALTERNATIVES;
  std::vector<std::int32_t> types;
  for (const std::int32_t number : stated.numbers) {
    GANTRY_TRY(const std::int32_t type, source_.host.device_type_in(source_.node, number));
    if (std::ranges::find(types, type) == types.end()) types.push_back(type);
  }
  info_.device_types = std::move(types);
  is_read_ = true;
  return {};
}

Result<const ModelInfo*> Factory::model_info() {
  GANTRY_CHECK(read_model());
  return &info_;
}

Result<const Signature*> Factory::signature(std::uint32_t) {
  GANTRY_CHECK(read_model());
  const std::lock_guard lock(mutex_);
  if (signature_ == nullptr) {
    GANTRY_TRY(inputs_, model_inputs(source_, nullptr));
    signature_ = signature_of(source_.payload->graph, inputs_);
  }
  return signature_.get();
}

Result<std::unique_ptr<ModelExecutor>> Factory::executor_new(const gantry_env& env,
                                                             const ExecutorOptions& options) {
  GANTRY_CHECK(signature(0));
  const Kind kind = options.capture ? Kind::capturing : Kind::plain;
  Source source = source_;
  source.uploaded = uploaded_;
  GANTRY_TRY(auto executor, make_executor(source, options.devices, &env, kind));
  return std::make_unique<ModelExecutor>(std::move(executor), inputs_, options.capture);
}

Status Factory::save(const Sink& sink) const {
  return write_payload(*source_.payload, source_.with_parameters, sink);
}

Result<Value> Factory::create_executor(const Call& call, std::size_t first_device,
                                       Kind kind) const {
  std::vector<gantry_device_id> devices;
  for (std::size_t i = first_device; i < call.args.size(); ++i) {
    GANTRY_TRY(const gantry_device_id device, call.device(i));
    devices.push_back(device);
  }
  if (devices.empty()) return call.refuse("no device is given");
  GANTRY_TRY(auto executor, make_executor(source_, devices, call.env, kind));
  return new_executor_module(std::move(executor), source_.node);
}

Result<std::unique_ptr<Executor>> Factory::make_executor(const Source& source,
                                                         std::span<const gantry_device_id> devices,
                                                         const gantry_env* env, Kind kind) {
  GANTRY_TRY(std::unique_ptr<Executor> executor, Executor::create(source, devices, env));
  if (kind == Kind::capturing) {
    Status captures = executor->capture_runs();
    if (!captures.ok()) {
      return std::move(captures).error().at("in cuda_graph_create; ",
                                            quoted(source.payload->list.module_name),
                                            " runs the same model without recording");
    }
  }
  executor->has_debug_functions = kind == Kind::debug;
  return executor;
}

Result<Value> Factory::create(const Call& call) const {
  return create_executor(call, 0, Kind::plain);
}

Result<Value> Factory::debug_create(const Call& call) const {
  if (call.args.empty()) return call.refuse("argument count is 0");
  GANTRY_TRY(const std::string_view name, call.text(0));
  if (name != source_.payload->list.module_name) {
    return not_found("module ", quoted(name),
                     " not found; modules: ", quoted(source_.payload->list.module_name))
        .with_reason("MODULE");
  }
  return create_executor(call, 1, Kind::debug);
}

Result<Value> Factory::cuda_graph_create(const Call& call) const {
  return create_executor(call, 0, Kind::capturing);
}

Result<Value> Factory::get_graph_json(const Call& call) const {
  GANTRY_CHECK(call.count_is(0));
  return source_.host.text(source_.payload->list.graph_json);
}

// Returns copies, which the caller may change: the file's bytes are read-only.
Result<Value> Factory::get_graph_params(const Call& call) const {
  GANTRY_CHECK(call.count_is(0));
  std::vector<Host::Entry> entries;
  if (source_.with_parameters) {
    for (const Parameter* parameter : source_.payload->parameters) {
      const gantry_tensor view = view_of_parameter(*parameter);
      GANTRY_TRY(Value name, source_.host.text(parameter->name));
      GANTRY_TRY(Value copy, source_.host.tensor_new(view));
      GANTRY_CHECK(source_.host.tensor_copy(view, *copy.tensor(), call.env));
      entries.emplace_back(std::move(name), std::move(copy));
    }
  }
  return source_.host.map(entries);
}

// Shares the payload and, through the parent, the imports.
Result<Value> Factory::remove_params(const Call& call) const {
  GANTRY_CHECK(call.count_is(0));
  Source source = source_;
  source.with_parameters = false;
  return new_module(source_.host, source_.node, std::make_unique<Factory>(std::move(source)));
}

}  // namespace gantry::graph
