// SPDX-License-Identifier: Apache-2.0
#include "core/engine/runtime/archive_model.hpp"

#include "core/engine/runtime/archive_module.hpp"
#include "core/engine/runtime/default_devices.hpp"

#include <utility>

namespace gantry {
namespace {

const ModuleNode& node_of(const Module& module) {
  return *reinterpret_cast<const ModuleNode*>(module.get());
}

class ArchiveModel final : public ModelState {
 public:
  ArchiveModel(Runtime runtime, const Module& archive, const PayloadLayouts& layouts,
               std::span<const std::string> devices, const ModelOptions& options)
      : ModelState(archive, archived_models(node_of(archive)), {}),
        runtime_(std::move(runtime)),
        layouts_(layouts),
        devices_(devices.begin(), devices.end()),
        options_(options) {}

  Result<std::shared_ptr<FunctionState>> chosen(std::string_view name) override {
    return function(std::string(name));
  }

  Result<std::shared_ptr<FunctionState>> function(const std::string& name) override {
    GANTRY_TRY(Ref<ModuleNode> root, archived_model(node_of(module), name));
    GANTRY_TRY(const auto devices,
               model_devices(runtime_, *root->artifact, {devices_, "model_new"}));
    const Module own(Object::adopt(reinterpret_cast<gantry_object*>(root.take())));
    GANTRY_TRY(const auto model, model_state(runtime_, own, layouts_, devices, options_));
    GANTRY_TRY(auto function, model->chosen({}));
    function->name = name;
    return function;
  }

 private:
  Runtime runtime_;
  const PayloadLayouts& layouts_;
  std::vector<std::string> devices_;
  ModelOptions options_;
};

}  // namespace

std::shared_ptr<ModelState> archive_model(Runtime runtime, const Module& module,
                                          const PayloadLayouts& layouts,
                                          std::span<const std::string> devices,
                                          const ModelOptions& options) {
  return std::make_shared<ArchiveModel>(std::move(runtime), module, layouts, devices, options);
}

}  // namespace gantry
