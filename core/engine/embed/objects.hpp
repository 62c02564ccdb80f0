// SPDX-License-Identifier: Apache-2.0
//
// The objects that only embedders have.
#pragma once

#include "core/engine/embed/instances.hpp"
#include "core/engine/embed/run_work.hpp"
#include "core/engine/runtime/state.hpp"
#include "core/engine/tensor/object.hpp"

#include <gantry/embed.h>
#include <gantry/result.hpp>

#include <memory>
#include <utility>
#include <vector>

namespace gantry {

// GANTRY_RUNTIME
struct RuntimeObject {
  gantry_object header;
  std::shared_ptr<RuntimeState> state;
};

// GANTRY_MODEL
struct ModelObject {
  ModelObject(std::shared_ptr<ModelState> found, std::size_t max_instances)
      : header{}, model(std::move(found)), instances(model, max_instances) {}

  RuntimeState& runtime() const { return *model->source().runtime; }

  gantry_object header;
  const std::shared_ptr<ModelState> model;
  ModelInstances instances;
  // Ends before the executors, whose memory it uses.
  UnfinishedWork unfinished;
};

// returns  exhausted
Result<Ref<RuntimeObject>> new_runtime_object(std::shared_ptr<RuntimeState> state);
Result<Ref<ModelObject>> new_model_object(std::shared_ptr<ModelState> model,
                                          std::size_t max_instances);

// Each returns NULL for an object of another kind, and for NULL.
RuntimeObject* as_runtime(gantry_object* object);
ModelObject* as_model(gantry_object* object);

// What an object of the C API is in the core, for tools that are built with the core. Precondition:
// the object is a runtime, or a module.
inline const std::shared_ptr<RuntimeState>& state_of(gantry_object* runtime) {
  return as_runtime(runtime)->state;
}
inline ModuleNode& node_of(gantry_object* module) { return *reinterpret_cast<ModuleNode*>(module); }

}  // namespace gantry
