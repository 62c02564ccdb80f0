// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/model_factory.hpp"

#include "tools/gantry/artifact.hpp"

#include "core/base/text.hpp"
#include "core/runtime/installed_plugins.hpp"

#include <gantry/quoted.hpp>

namespace gantry::cli {

Result<Executor> make_executor(Runtime& runtime, const Module& model,
                               std::span<const std::string> devices, const std::string& factory,
                               bool capture) {
  auto made = runtime.executor(model, devices, capture ? capture_factory : factory);
  if (!made.ok() && capture && made.error().code == Code::unsupported)
    return std::move(made).error().at(
        "required by --capture; without it the model runs on this device");
  return made;
}

Result<std::string> factory_name(const Runtime& runtime, const Module& model,
                                 const std::string& path) {
  const std::string usual = "default";
  const auto made_as_usual = model.function(usual);
  if (made_as_usual.ok()) return usual;

  const InstalledPlugins installed(runtime);
  const PayloadLayouts& layouts = installed.layouts();
  GANTRY_TRY(const Artifact artifact, read_artifact(path, layouts));
  const std::vector<std::string> names = model_names(artifact, layouts);
  if (names.size() == 1) return names.front();
  if (names.empty()) {
    return Error(made_as_usual.error())
        .at("gantry run --function NAME calls one function of a library");
  }
  return not_found("the file contains ", names.size(), " models, ",
                   joined(names, [](const std::string& name) { return quoted(name); }),
                   "; none is named ", quoted(usual))
      .with_reason("MODULE");
}

}  // namespace gantry::cli
