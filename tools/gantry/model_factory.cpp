// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/model_factory.hpp"

#include "core/format/details.hpp"
#include "core/format/model_signature.hpp"
#include "core/module/module.hpp"
#include "core/runtime/installed_plugins.hpp"

#include <gantry/join.hpp>
#include <gantry/quoted.hpp>

#include <algorithm>

namespace gantry::cli {
namespace {

// The name of a model, which is also the name of the function that creates its executors; empty if
// the module is no model.
std::string model_name(const Entry& entry, const Container& container,
                       const PayloadLayouts& layouts) {
  const PayloadDetails details = describe_payload(entry, container.facts, layouts);
  const Detail* name = details.root.find("module_name");
  return name != nullptr && name->kind == Detail::Kind::text ? name->value : std::string();
}

// The names of the models in the artifact, without duplicates, in module order.
std::vector<std::string> model_names(const Container& container, const PayloadLayouts& layouts) {
  std::vector<std::string> names;
  for (const Entry& entry : container.entries) {
    const std::string name = model_name(entry, container, layouts);
    if (!name.empty() && std::find(names.begin(), names.end(), name) == names.end()) {
      names.push_back(name);
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

std::vector<std::string> output_names(const Runtime& runtime, const Module& model,
                                      std::string_view factory) {
  const Container& container =
      reinterpret_cast<const ModuleNode*>(model.get())->artifact->container;
  std::vector<const Entry*> models;
  for (const Entry& entry : container.entries) {
    if (entry.type_key == graph_factory_key || entry.type_key == old_graph_factory_key)
      models.push_back(&entry);
  }
  const PayloadLayouts& layouts = InstalledPlugins(runtime).layouts();
  for (const Entry* entry : models) {
    if (models.size() != 1 && model_name(*entry, container, layouts) != factory) continue;
    const auto signature = read_signature(*entry);
    if (!signature.ok() || !*signature) continue;
    std::vector<std::string> names;
    for (const SignatureTensor& output : (*signature)->outputs) names.push_back(output.name);
    return names;
  }
  return {};
}

}  // namespace gantry::cli
