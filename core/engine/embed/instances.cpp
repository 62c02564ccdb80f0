// SPDX-License-Identifier: Apache-2.0
#include "core/engine/embed/instances.hpp"

#include <gantry/abi_boundary.hpp>

#include <algorithm>
#include <chrono>
#include <span>
#include <utility>

namespace gantry {
namespace {

constexpr std::chrono::milliseconds cancellation_interval{10};

// The innermost use of an instance of any model on this thread.
thread_local constinit const ModelInstances::Use* innermost_use = nullptr;

}  // namespace

ModelInstance::ModelInstance(std::shared_ptr<ModelState> model) : model_(std::move(model)) {
  executors_.resize(model_->members().size());
}

bool ModelInstance::is_new() const {
  return std::ranges::all_of(executors_, [](const auto& each) { return each == nullptr; });
}

Result<ModelExecutor*> ModelInstance::executor(std::size_t member, const gantry_env& env) {
  if (executors_[member] == nullptr) {
    GANTRY_TRY(executors_[member], model_->new_executor(member, env));
  }
  return executors_[member].get();
}

Result<const ReadyFunction*> ModelInstance::function(std::string_view name, const gantry_env& env) {
  const auto known = functions_.find(name);
  if (known != functions_.end()) return &known->second;
  GANTRY_TRY(const ModelState::Function* const found, model_->function(name));
  ReadyFunction ready{.index = found->index};
  GANTRY_TRY(ready.signature, model_->signature(*found));
  GANTRY_TRY(ready.executor, executor(found->member, env));
  GANTRY_TRY(ready.devices, model_->devices(found->member));
  GANTRY_TRY(ready.placed, ready.executor->placements(found->index, ready.signature->table));
  const auto devices_of =
      [&](std::span<const gantry_placement> places) -> Result<std::vector<PlacementDevice>> {
    std::vector<PlacementDevice> devices;
    for (const gantry_placement& place : places) {
      GANTRY_TRY(const PlacementDevice device,
                 PlacementDevice::find(*model_->source().runtime, place.device));
      devices.push_back(device);
    }
    return devices;
  };
  GANTRY_TRY(ready.input_devices, devices_of(ready.placed.inputs));
  GANTRY_TRY(ready.output_devices, devices_of(ready.placed.outputs));
  return &functions_.emplace(name, std::move(ready)).first->second;
}

Status ModelInstance::follow(RuntimeState& runtime, std::span<const Ref<StreamObject>> streams) {
  const auto is_in = [](std::span<const Ref<StreamObject>> all, const Ref<StreamObject>& stream) {
    return std::ranges::any_of(all, [&](const auto& each) { return each.get() == stream.get(); });
  };
  // The work in the default streams of other devices is ordered by the device of the next stream.
  for (const Ref<StreamObject>& each : streams_) {
    if (!is_in(streams, each)) GANTRY_CHECK(synchronize(runtime, each->device, each->handle));
  }
  for (const Ref<StreamObject>& each : streams) {
    if (!is_in(streams_, each)) GANTRY_CHECK(synchronize(runtime, each->device, nullptr));
  }
  streams_.assign(streams.begin(), streams.end());
  return {};
}

ModelInstances::ModelInstances(std::shared_ptr<ModelState> model, std::size_t max)
    : model_(std::move(model)), max_(max) {}

Status ModelInstances::Use::begin() {
  GANTRY_TRY(instance_, instances_.take(task_));
  if (instance_ == nullptr) {
    auto made = guard([&]() -> Result<std::unique_ptr<ModelInstance>> {
      return std::make_unique<ModelInstance>(instances_.model_);
    });
    if (!made.ok()) {
      instances_.give_back(nullptr);
      return std::move(made).failure();
    }
    instance_ = std::move(*made);
  }
  outer_ = std::exchange(innermost_use, this);
  return {};
}

void ModelInstances::Use::end() {
  if (instance_ == nullptr) return;
  innermost_use = outer_;
  // One without an executor has nothing to keep; its number is free for another one.
  instances_.give_back(instance_->is_new() ? nullptr : std::move(instance_));
  instance_.reset();
}

Result<const ReadyFunction*> ModelInstances::Use::function(std::string_view name,
                                                           const gantry_env& env) {
  for (;;) {
    auto ready = instance_->function(name, env);
    if (ready.ok() || ready.error().code != Code::exhausted || !instance_->is_new() ||
        !instances_.stop_growing())
      return ready;
    end();
    GANTRY_CHECK(begin());
  }
}

Result<std::unique_ptr<ModelInstance>> ModelInstances::take(const EmbeddedTask* task) {
  std::unique_lock lock(mutex_);
  while (unused_.empty() && count_ >= max_) {
    if (is_used_by_this_thread()) {
      return invalid("the model is run from within its own run, and its executors are in use; ",
                     "executor count is ", max_)
          .with_reason("MODEL_BUSY");
    }
    if (task == nullptr) {
      changed_.wait(lock);
      continue;
    }
    // Without the lock, because the task's `poll` is code of the program.
    lock.unlock();
    GANTRY_CHECK(check_not_cancelled(task));
    lock.lock();
    if (unused_.empty() && count_ >= max_) changed_.wait_for(lock, cancellation_interval);
  }
  if (unused_.empty()) {
    // give_back() then allocates nothing
    unused_.reserve(count_ + 1);
    ++count_;
    return std::unique_ptr<ModelInstance>();
  }
  std::unique_ptr<ModelInstance> taken = std::move(unused_.back());
  unused_.pop_back();
  return taken;
}

// instance  [in]  NULL: it is destroyed, or could not be created
void ModelInstances::give_back(std::unique_ptr<ModelInstance> instance) {
  {
    const std::lock_guard lock(mutex_);
    if (instance != nullptr)
      unused_.push_back(std::move(instance));
    else
      --count_;
  }
  changed_.notify_one();
}

bool ModelInstances::stop_growing() {
  const std::lock_guard lock(mutex_);
  if (count_ <= 1) return false;
  max_ = count_ - 1;
  return true;
}

bool ModelInstances::is_used_by_this_thread() const {
  for (const Use* use = innermost_use; use != nullptr; use = use->outer_) {
    if (&use->instances_ == this) return true;
  }
  return false;
}

}  // namespace gantry
