// SPDX-License-Identifier: Apache-2.0
#include "module.hpp"

#include "plugin.hpp"

#include <gantry/progress.hpp>
#include <gantry/quoted.hpp>

#include <utility>

namespace abacus {

gantry::Result<std::unique_ptr<Module>> Module::load(Plugin& plugin, gantry::Blob& blob) {
  GANTRY_TRY(Payload payload, read_payload(blob));
  return std::make_unique<Module>(plugin, std::move(payload));
}

gantry::Result<std::int32_t> Module::check(Plugin& plugin, gantry::Blob& blob,
                                           std::int32_t device_index) {
  GANTRY_CHECK(read_payload(blob));
  GANTRY_CHECK(plugin.device(device_index));
  return GANTRY_VERDICT_OPTIMAL;
}

Module::Module(const Plugin& plugin, Payload payload)
    : plugin_(plugin), payload_(std::move(payload)) {
  for (const Kernel& kernel : payload_.kernels)
    functions_.emplace(kernel.call.name(), KernelFunction{&plugin, &kernel});
}

std::shared_ptr<const std::vector<Step>> KernelFunction::loaded(std::int32_t device) const {
  const std::lock_guard lock(programs->mutex);
  auto& program = programs->by_device[device];
  if (program == nullptr) {
    const gantry::AnnouncedWork work(
        plugin->host(), gantry::concat("loading kernel ", gantry::quoted(kernel->call.name()),
                                       " onto abacus:", device));
    program = std::make_shared<const std::vector<Step>>(kernel->steps);
  }
  return program;
}

gantry::Status Module::prepare(const gantry_env& env, std::span<const gantry_device_id> devices) {
  for (const gantry_device_id device : devices) {
    GANTRY_CHECK(plugin_.device(device.index));
    for (const auto& [name, function] : functions_) {
      GANTRY_CHECK(plugin_.host().check_task(&env));
      (void)function.loaded(device.index);
    }
  }
  return {};
}

}  // namespace abacus
