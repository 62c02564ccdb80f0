// SPDX-License-Identifier: Apache-2.0
#include "core/engine/runtime/archive_model.hpp"

#include "core/engine/runtime/archive_module.hpp"
#include "core/engine/runtime/default_devices.hpp"

#include <utility>

namespace gantry {
namespace {

class ArchiveModel final : public ModelState {
 public:
  explicit ArchiveModel(const ModelSource& source)
      : ModelState(source.module, archived_models(*source.module), {}), source_(source) {}

  Result<std::shared_ptr<FunctionState>> chosen(std::string_view name) override {
    return function(std::string(name));
  }

  Result<std::shared_ptr<FunctionState>> function(const std::string& name) override {
    ModelSource own = source_;
    GANTRY_TRY(own.module, archived_model(*module, name));
    GANTRY_TRY(own.devices,
               model_devices(*own.runtime, *own.module->artifact, {source_.devices, "model_new"}));
    GANTRY_TRY(const auto model, model_state(own));
    GANTRY_TRY(auto function, model->chosen({}));
    function->name = name;
    return function;
  }

 private:
  const ModelSource source_;
};

}  // namespace

std::shared_ptr<ModelState> archive_model(const ModelSource& source) {
  return std::make_shared<ArchiveModel>(source);
}

}  // namespace gantry
