// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/model_factory.hpp"

#include "core/format/details.hpp"
#include "core/module/module.hpp"
#include "core/runtime/installed_plugins.hpp"

#include <gantry/join.hpp>
#include <gantry/quoted.hpp>

#include <algorithm>

namespace gantry::cli {
namespace {

// The names of the models in the artifact, without duplicates, in module order. The name of a model
// is also the name of the function that creates its executors.
std::vector<std::string> model_names(const Container& container, const PayloadLayouts& layouts) {
  std::vector<std::string> names;
  for (const Entry& entry : container.entries) {
    const PayloadDetails details = describe_payload(entry, container.facts, layouts);
    const Detail* name = details.root.find("module_name");
    if (name == nullptr || name->kind != Detail::Kind::text) continue;
    if (std::find(names.begin(), names.end(), name->value) == names.end()) {
      names.push_back(name->value);
    }
  }
  return names;
}

}  // namespace

Result<Executor> make_executor(Runtime& runtime, const Module& model,
                               std::span<const std::string> devices, const std::string& factory,
                               bool capture) {
  auto made = runtime.executor(model, devices, capture ? capture_factory : factory);
  if (!made.ok() && capture && made.error().code == Code::unsupported)
    return std::move(made).error().at(
        "required by --capture; without it the model runs on this device");
  return made;
}

Result<std::string> factory_name(const Runtime& runtime, const Module& model) {
  const std::string usual = "default";
  const auto made_as_usual = model.function(usual);
  if (made_as_usual.ok()) return usual;

  const auto& root = *reinterpret_cast<const ModuleNode*>(model.get());
  const std::vector<std::string> names =
      model_names(root.artifact->container, InstalledPlugins(runtime).layouts());
  if (names.size() == 1) return names.front();
  if (names.empty()) {
    return Error(made_as_usual.error())
        .at("gantry run --function NAME calls one function of a library");
  }
  return not_found("the file contains ", names.size(), " models, ", join(names, ", ", in_quotes),
                   "; none is named ", quoted(usual))
      .with_reason("MODULE");
}

}  // namespace gantry::cli
