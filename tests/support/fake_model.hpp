// SPDX-License-Identifier: Apache-2.0
//
// A module that is a model (gantry/model.h) without code. Its functions have no inputs and outputs,
// unless the test states some.
#pragma once

#include "core/engine/module/module.hpp"
#include "core/engine/runtime/state.hpp"

#include <gantry/model.hpp>
#include <gantry/module.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gantry::test {

// What a fake model states, and what its executors have done.
struct FakeModelState {
  std::vector<std::string> functions = {"main"};
  std::vector<std::int32_t> device_types = {};
  std::uint32_t flags = 0;
  std::vector<ParameterInfo> inputs = {};
  Placements placements = {};
  // what a run does; empty: nothing
  std::function<Status(const gantry_env& env, ExecutorRun& run)> work = {};
  // executor_new is EXHAUSTED if there are as many
  int max_executors = 1000;
  // executors that were created, and that exist
  std::atomic<int> created{0}, alive{0};
  // the module was destroyed, and executors existed then
  std::atomic<bool> has_ended{false}, was_outlived{false};
};

class FakeModel {
 public:
  static constexpr const char* type_name = "fake.model";

  explicit FakeModel(std::shared_ptr<FakeModelState> state)
      : state_(std::move(state)), signature_(state_->inputs, std::vector<ParameterInfo>()) {
    info_.functions = state_->functions;
    info_.device_types = state_->device_types;
    info_.flags = state_->flags;
    info_.prepare();
  }

  ~FakeModel() {
    state_->was_outlived = state_->alive != 0;
    state_->has_ended = true;
  }
  FakeModel(const FakeModel&) = delete;
  FakeModel& operator=(const FakeModel&) = delete;

  class Executor {
   public:
    explicit Executor(std::shared_ptr<FakeModelState> state) : state_(std::move(state)) {
      ++state_->created;
      ++state_->alive;
    }
    ~Executor() { --state_->alive; }
    Result<const Placements*> placements(std::uint32_t) { return &state_->placements; }
    Status run(const gantry_env& env, ExecutorRun& run) {
      return state_->work ? state_->work(env, run) : Status();
    }

   private:
    std::shared_ptr<FakeModelState> state_;
  };

  Result<const ModelInfo*> model_info() { return &info_; }
  Result<const Signature*> signature(std::uint32_t) { return &signature_; }
  Result<std::unique_ptr<Executor>> executor_new(const gantry_env&, const ExecutorOptions&) {
    if (state_->alive >= state_->max_executors)
      return exhausted("executor count is ", state_->max_executors, ", the maximum");
    return std::make_unique<Executor>(state_);
  }

 private:
  std::shared_ptr<FakeModelState> state_;
  ModelInfo info_;
  Signature signature_;
};

// Returns a module of a runtime.
inline Ref<ModuleNode> fake_model(RuntimeState& runtime, std::shared_ptr<FakeModelState> state) {
  static constexpr gantry_module_table table = [] {
    gantry_module_table made{};
    made.struct_size = sizeof made;
    made.type_name = FakeModel::type_name;
    made.destroy = [](void* self) { delete static_cast<FakeModel*>(self); };
    made.get_function = [](void*, gantry_bytes, gantry_function*, gantry_status*) -> gantry_code {
      return GANTRY_NOT_FOUND;
    };
    made.get_extension = [](void*, const char*) -> const void* { return &model_table<FakeModel>; };
    return made;
  }();
  auto artifact = std::make_shared<Artifact>(runtime.new_artifact());
  artifact->name = "fake.so";
  Ref<ModuleNode> node =
      new_module_node(std::move(artifact), FakeModel::type_name, ModuleNode::kNoIndex).value();
  auto self = std::make_unique<FakeModel>(std::move(state));
  if (bind(*node, {self.get(), &table}).ok()) (void)self.release();
  return node;
}

}  // namespace gantry::test
