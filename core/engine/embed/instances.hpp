// SPDX-License-Identifier: Apache-2.0
//
// The executors of one model: a bounded set of instances, each with memory of its own, that share
// the module's code and parameters.
//
//     ModelInstances::Use use(model.instances);
//     GANTRY_CHECK(use.begin());               // waits while all instances are in use
//     GANTRY_TRY(const ReadyFunction* const function, use.function("main", env));
#pragma once

#include "core/engine/embed/placement_device.hpp"
#include "core/engine/embed/stream.hpp"
#include "core/engine/embed/task.hpp"
#include "core/engine/runtime/model_state.hpp"

#include <gantry/result.hpp>

#include <condition_variable>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

// Of runs without a stream and a task.
inline constexpr gantry_env default_env{{kCpu, 0}, nullptr, nullptr, nullptr};

// A function with an executor that can run it.
struct ReadyFunction {
  const FunctionSignature* signature = nullptr;
  // index in the executor's functions
  std::uint32_t index = 0;
  ModelExecutor* executor = nullptr;
  ModelExecutor::Placed placed = {};
  // of the executor
  std::span<const gantry_device_id> devices = {};
  // by input, and by output
  std::vector<PlacementDevice> input_devices = {}, output_devices = {};
};

// thread   one at a time
class ModelInstance {
 public:
  explicit ModelInstance(std::shared_ptr<ModelState> model);

  // Returns a function, creating its executor the first time.
  //
  // name     [in]   see ModelState::function()
  // lifetime as long as the instance
  Result<const ReadyFunction*> function(std::string_view name, const gantry_env& env);

  // Returns the executor of a member of the model, creating it the first time.
  //
  // lifetime as long as the instance
  Result<ModelExecutor*> executor(std::size_t member, const gantry_env& env);

  // True until an executor was created.
  bool is_new() const;

  // Orders the next run after the last one, if that was in other streams.
  //
  // streams  [in]   of the next run; those of other devices are the default ones
  // costs    waits for the work in the other streams
  Status follow(RuntimeState& runtime, std::span<const Ref<StreamObject>> streams);

 private:
  std::shared_ptr<ModelState> model_;
  // of the last run
  std::vector<Ref<StreamObject>> streams_;
  // by member; NULL: not created yet
  std::vector<std::unique_ptr<ModelExecutor>> executors_;
  std::map<std::string, ReadyFunction, std::less<>> functions_;
};

class ModelInstances {
 public:
  // max      [in]   number of instances, at least 1
  ModelInstances(std::shared_ptr<ModelState> model, std::size_t max);
  ModelInstances(const ModelInstances&) = delete;
  ModelInstances& operator=(const ModelInstances&) = delete;

  // The use of one instance by one thread, in a scope.
  class Use {
   public:
    // task     [in]   NULL: waiting cannot be cancelled
    explicit Use(ModelInstances& instances, const EmbeddedTask* task = nullptr)
        : instances_(instances), task_(task) {}
    ~Use() { end(); }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

    // Takes an instance that is not in use. Creates one if there is none and less than the maximum
    // exist; else waits.
    //
    // returns  invalid, reason MODEL_BUSY: this thread would wait for itself; cancelled
    Status begin();

    // Returns a function of the instance. If no executor can be created for it because the plugin
    // has no more (EXHAUSTED), the set grows no further, and another instance is waited for.
    //
    // returns  as ModelInstance::function() and begin()
    Result<const ReadyFunction*> function(std::string_view name, const gantry_env& env);

    // Precondition: begin() has succeeded.
    ModelInstance& operator*() const { return *instance_; }
    ModelInstance* operator->() const { return instance_.get(); }

   private:
    friend class ModelInstances;
    void end();

    ModelInstances& instances_;
    const EmbeddedTask* const task_;
    std::unique_ptr<ModelInstance> instance_;
    // the use on this thread that began before
    const Use* outer_ = nullptr;
  };

 private:
  // NULL: another one may be created, and is counted.
  Result<std::unique_ptr<ModelInstance>> take(const EmbeddedTask* task);
  void give_back(std::unique_ptr<ModelInstance> instance);
  // Makes the number of the other instances the maximum; false if there is no other one.
  bool stop_growing();
  bool is_used_by_this_thread() const;

  const std::shared_ptr<ModelState> model_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // guarded by mutex_, as are the following; the one that was used last is at the end
  std::vector<std::unique_ptr<ModelInstance>> unused_;
  std::size_t max_;
  std::size_t count_ = 0;
};

}  // namespace gantry
