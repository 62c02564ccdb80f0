// SPDX-License-Identifier: Apache-2.0
#include "core/engine/embed/instances.hpp"

#include <gantry/abi_boundary.hpp>

#include <chrono>
#include <utility>

namespace gantry {
namespace {

constexpr std::chrono::milliseconds cancellation_interval{10};

// The innermost use of an instance of any model on this thread.
thread_local constinit const ModelInstances::Use* innermost_use = nullptr;

}  // namespace

Result<FunctionState*> ModelInstance::function(std::string_view name) {
  auto known = functions_.find(name);
  if (known == functions_.end() && name.empty()) known = functions_.find(model_->default_function);
  if (known != functions_.end()) return known->second.get();
  GANTRY_TRY(const std::shared_ptr<FunctionState> made, model_->chosen(name));
  // An empty name means a function that also has a name.
  functions_.emplace(made->name, made);
  return functions_.emplace(name, made).first->second.get();
}

Status ModelInstance::follow(RuntimeState& runtime, Ref<StreamObject> stream) {
  if (stream.get() == stream_.get()) return {};
  // The work in the default streams of several devices is ordered by the device of the next stream.
  const StreamObject& any = stream_ ? *stream_ : *stream;
  GANTRY_CHECK(synchronize(runtime, any.device, stream_ ? stream_->handle : nullptr));
  stream_ = std::move(stream);
  return {};
}

ModelInstances::ModelInstances(std::shared_ptr<ModelState> first, Make make, std::size_t max)
    : make_(std::move(make)), max_(max) {
  unused_.reserve(1);
  unused_.push_back(std::make_unique<ModelInstance>(std::move(first)));
}

Status ModelInstances::Use::begin() {
  GANTRY_TRY(instance_, instances_.take(task_));
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

Result<std::unique_ptr<ModelInstance>> ModelInstances::take(const EmbeddedTask* task) {
  std::unique_lock lock(mutex_);
  while (unused_.empty() && count_ == max_) {
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
    if (unused_.empty() && count_ == max_) changed_.wait_for(lock, cancellation_interval);
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
