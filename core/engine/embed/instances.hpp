// SPDX-License-Identifier: Apache-2.0
//
// The executors of one model: a bounded set of instances, each with memory of its own, that share
// the module's code and parameters.
//
//     ModelInstances::Use use(model.instances);
//     GANTRY_CHECK(use.begin());               // waits while all instances are in use
//     GANTRY_TRY(FunctionState * const function, use->function("main"));
#pragma once

#include "core/engine/embed/stream.hpp"
#include "core/engine/embed/task.hpp"
#include "core/engine/runtime/model_state.hpp"

#include <gantry/result.hpp>

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

// thread   one at a time
class ModelInstance {
 public:
  explicit ModelInstance(std::shared_ptr<ModelState> model) : model_(std::move(model)) {}

  // Returns a function, creating it the first time.
  //
  // name     [in]   see ModelState::chosen()
  // lifetime as long as the instance
  Result<FunctionState*> function(std::string_view name);

  // True until function() has succeeded.
  bool is_new() const { return functions_.empty(); }
  const std::shared_ptr<ModelState>& model() const { return model_; }

  // Orders the next run after the last one, if that was in another stream.
  //
  // stream   [in]   of the next run; empty: the default streams
  // costs    waits for the work in the other stream
  Status follow(RuntimeState& runtime, Ref<StreamObject> stream);

 private:
  std::shared_ptr<ModelState> model_;
  // of the last run
  Ref<StreamObject> stream_;
  std::map<std::string, std::shared_ptr<FunctionState>, std::less<>> functions_;
};

class ModelInstances {
 public:
  // Creates another instance of the model.
  using Make = std::function<Result<std::shared_ptr<ModelState>>()>;

  // first    [in]   the first instance
  // max      [in]   number of instances, at least 1
  ModelInstances(std::shared_ptr<ModelState> first, Make make, std::size_t max);
  ModelInstances(const ModelInstances&) = delete;
  ModelInstances& operator=(const ModelInstances&) = delete;

  // Returns an instance that is none of the set: no run uses it. It is created unless the set has one
  // without functions, which leaves the set.
  Result<std::shared_ptr<ModelState>> apart();

  // The use of one instance by one thread, in a scope.
  class Use {
   public:
    // task     [in]   NULL: waiting cannot be cancelled
    explicit Use(ModelInstances& instances, const EmbeddedTask* task = nullptr)
        : instances_(instances), task_(task) {}
    ~Use();
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

    // Takes an instance that is not in use. Creates one if there is none and less than the maximum
    // exist; else waits.
    //
    // returns  invalid, reason MODEL_BUSY: this thread would wait for itself; cancelled; the error
    //          of Make
    Status begin();

    // Precondition: begin() has succeeded.
    ModelInstance& operator*() const { return *instance_; }
    ModelInstance* operator->() const { return instance_.get(); }

   private:
    friend class ModelInstances;
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
  bool is_used_by_this_thread() const;

  const Make make_;
  const std::size_t max_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // guarded by mutex_, as are the following; the one that was used last is at the end
  std::vector<std::unique_ptr<ModelInstance>> unused_;
  std::size_t count_ = 1;
};

}  // namespace gantry
