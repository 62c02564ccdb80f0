// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/model_devices.hpp"

#include "tools/gantry/common/exit_status.hpp"

#include "core/base/text.hpp"
#include "core/engine/module/module.hpp"
#include "core/engine/runtime/default_devices.hpp"
#include "core/engine/runtime/installed_plugins.hpp"

#include <gantry/join.hpp>
#include <gantry/quoted.hpp>

namespace gantry::cli {

Result<Module> load_model(Runtime& runtime, const std::string& path, const LoadOptions& options) {
  auto model = runtime.load(path, options);
  if (model.ok() || model.error().code != Code::unavailable) return model;
  const InstalledPlugins plugins(runtime);
  const auto artifact = plugins.read_artifact(path);
  if (!artifact.ok()) return model;
  const DefaultDevices defaults = default_devices(**artifact, plugins.set());
  for (const std::string& kind : defaults.kinds) {
    if (!runtime.device(kind).ok()) {
      return std::move(model).error().at(made_for_text(*runtime.state(), **artifact, defaults));
    }
  }
  return model;
}

Result<std::vector<std::string>> reported_devices(Runtime& runtime, const Module& model,
                                                  std::span<const std::string> given, bool quiet) {
  const Artifact& artifact = *reinterpret_cast<const ModuleNode*>(model.get())->artifact;
  GANTRY_TRY(std::vector<std::string> devices,
             model_devices(*runtime.state(), artifact, {given, "--device"}));
  if (given.empty() && devices.front() != "cpu" && !quiet) {
    print_error(text_line("gantry: runs on ", join(devices), ", for which ", quoted(artifact.name),
                          " is made"));
  }
  return devices;
}

}  // namespace gantry::cli
