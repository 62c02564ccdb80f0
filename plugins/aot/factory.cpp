// SPDX-License-Identifier: Apache-2.0
#include "factory.hpp"

#include "plugin.hpp"

#include <gantry/device_name.hpp>

#include <span>
#include <utility>

namespace gantry::aot {

Result<std::unique_ptr<Factory>> Factory::load(Plugin& plugin, Blob& blob) {
  GANTRY_TRY(Payload payload, read_payload(blob));
  return std::make_unique<Factory>(
      Source{plugin.host, blob.node(), std::make_shared<const Payload>(std::move(payload))});
}

std::array<Method<Factory>, 3> Factory::functions() const {
  std::array all{method<&Factory::create, "default(device)">,
                 method<&Factory::list_module_names, "list_module_names()">,
                 method<&Factory::remove_params, "remove_params()">};
  all[0].name = source_.payload->module_name;
  return all;
}

Factory::Factory(Source source) : source_(std::move(source)) {
  info_.functions.emplace_back(source_.payload->module_name);
  info_.default_function = 0;
  info_.device_types = {cpu_device_type};
  info_.prepare();
}

Result<const Signature*> Factory::signature(std::uint32_t) {
  const std::lock_guard lock(mutex_);
  if (signature_ == nullptr) {
    GANTRY_TRY(const AotMetadata metadata,
               read_library_metadata(source_.host, source_.node, nullptr));
    std::span<const Parameter> parameters;
    if (source_.with_parameters) parameters = source_.payload->parameters;
    inputs_ = model_inputs(metadata, parameters);
    signature_ = signature_of(metadata, inputs_);
  }
  return signature_.get();
}

Result<std::unique_ptr<ModelExecutor>> Factory::executor_new(const gantry_env& env,
                                                             const ExecutorOptions& options) {
  if (options.capture) {
    return unsupported("code that is compiled ahead of time cannot be recorded, only graphs can")
        .with_reason("CAPTURE");
  }
  GANTRY_CHECK(signature(0));
  GANTRY_TRY(auto executor, Executor::create(source_, &env));
  return std::make_unique<ModelExecutor>(std::move(executor), inputs_);
}

Result<Value> Factory::create(const Call& call) const {
  GANTRY_CHECK(call.count_is(1));
  GANTRY_TRY(const gantry_device_id device, call.device(0));
  if (device.type != cpu_device_type) {
    return invalid("device is ", source_.host.device_text(device),
                   ", code that is compiled ahead of time runs on the CPU")
        .with_reason("DEVICE");
  }
  GANTRY_TRY(std::unique_ptr<Executor> executor, Executor::create(source_, call.env));
  return new_module(source_.host, source_.node, std::move(executor));
}

Result<Value> Factory::list_module_names(const Call& call) const {
  GANTRY_CHECK(call.count_is(0));
  GANTRY_TRY(const Value name, source_.host.text(source_.payload->module_name));
  return source_.host.array({name});
}

// Shares the payload and, through the parent, the imports.
Result<Value> Factory::remove_params(const Call& call) const {
  GANTRY_CHECK(call.count_is(0));
  Source source = source_;
  source.with_parameters = false;
  return new_module(source_.host, source_.node, std::make_unique<Factory>(std::move(source)));
}

}  // namespace gantry::aot
