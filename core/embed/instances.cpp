// SPDX-License-Identifier: Apache-2.0
#include "core/embed/instances.hpp"

#include <gantry/abi_boundary.hpp>

#include <utility>

namespace gantry {
namespace {

// The innermost use of an instance of any model on this thread.
thread_local constinit const ModelInstances::Use* innermost_use = nullptr;

}  // namespace

Result<FunctionState*> ModelInstance::function(std::string_view name) {
  if (const auto known = functions_.find(name); known != functions_.end())
    return known->second.get();
  GANTRY_TRY(std::shared_ptr<FunctionState> made, model_->chosen(name));
  return functions_.emplace(name, std::move(made)).first->second.get();
}

ModelInstances::ModelInstances(std::shared_ptr<ModelState> first, Make make, std::size_t max)
    : make_(std::move(make)), max_(max) {
  unused_.reserve(1);
  unused_.push_back(std::make_unique<ModelInstance>(std::move(first)));
}

Status ModelInstances::Use::begin() {
  GANTRY_TRY(instance_, instances_.take());
  if (instance_ == nullptr) {
    auto made = guard([&]() -> Result<std::unique_ptr<ModelInstance>> {
      GANTRY_TRY(std::shared_ptr<ModelState> model, instances_.make_());
      return std::make_unique<ModelInstance>(std::move(model));
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

ModelInstances::Use::~Use() {
  if (instance_ == nullptr) return;
  innermost_use = outer_;
  instances_.give_back(std::move(instance_));
}

Result<std::unique_ptr<ModelInstance>> ModelInstances::take() {
  std::unique_lock lock(mutex_);
  while (unused_.empty() && count_ == max_) {
    if (is_used_by_this_thread()) {
      return invalid("the model is run from within its own run, and its executors are in use; ",
                     "executor count is ", max_)
          .with_reason("MODEL_BUSY");
    }
    changed_.wait(lock);
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

// instance  [in]  NULL: it could not be created
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

bool ModelInstances::is_used_by_this_thread() const {
  for (const Use* use = innermost_use; use != nullptr; use = use->outer_) {
    if (&use->instances_ == this) return true;
  }
  return false;
}

}  // namespace gantry
