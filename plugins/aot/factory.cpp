// SPDX-License-Identifier: Apache-2.0
#include "factory.hpp"

#include "plugin.hpp"

#include <gantry/device_name.hpp>

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

Result<Value> Factory::create(const Call& call) const {
  GANTRY_CHECK(call.count_is(1));
  GANTRY_TRY(const gantry_device_id device, call.device(0));
  if (device.type != cpu_device_type) {
    return invalid("device is ", device_text(device),
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
  auto factory = std::make_unique<Factory>(source_);
  factory->source_.with_parameters = false;
  return new_module(source_.host, source_.node, std::move(factory));
}

}  // namespace gantry::aot
