// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/model_devices.hpp"

#include "tools/gantry/common/exit_status.hpp"

#include "core/base/running_code.hpp"
#include "core/base/text.hpp"
#include "core/engine/embed/objects.hpp"
#include "core/engine/module/module.hpp"
#include "core/engine/runtime/artifact_file.hpp"
#include "core/engine/runtime/default_devices.hpp"

#include <gantry/join.hpp>
#include <gantry/quoted.hpp>

namespace gantry::cli {

Result<Module> load_model(const Runtime& runtime, const std::string& path, LoadOptions options,
                          const std::vector<std::string>& devices) {
  options.devices = devices;
  const std::string title = concat("the load of ", quoted(path));
  const CallRecord record(title);
  auto model = runtime.load(path, options);
  if (model.ok() || model.error().code != Code::unavailable) return model;
  RuntimeState& state = *state_of(runtime.get());
  const auto artifact = read_artifact(state, path);
  if (!artifact.ok()) return model;
  const DefaultDevices defaults = implied_devices(**artifact, *state.plugins);
  for (const std::string& kind : defaults.names) {
    if (!runtime.device(kind).ok()) {
      return std::move(model).error().at(made_for_text(state, **artifact, defaults));
    }
  }
  return model;
}

Result<std::vector<std::string>> reported_devices(const Runtime& runtime, const Module& model,
                                                  std::span<const std::string> given, bool quiet) {
  ModuleNode& node = node_of(model.get());
  const Artifact& artifact = *node.artifact;
  GANTRY_TRY(std::vector<std::string> devices,
             model_devices(*state_of(runtime.get()), node, {given, "--device"}));
  if (given.empty() && devices.front() != "cpu" && !quiet) {
    print_error(text_line("gantry: runs on ", join(devices), ", for which ", quoted(artifact.name),
                          " is made"));
  }
  return devices;
}

}  // namespace gantry::cli
