// SPDX-License-Identifier: Apache-2.0
#include "core/engine/embed/objects.hpp"

#include "core/base/process_end.hpp"

#include <new>

namespace gantry {
namespace {

// Destroys models and runtimes, whose plugins must not be unwound.
template <class T>
void destroy_embedded(void* self, std::int32_t flags) {
  const NoCancellation guard;
  destroy_object<T>(self, flags);
}
template <class T>
void delete_embedded(void* self, std::int32_t flags) {
  delete_nested(self, flags, destroy_embedded<T>);
}

// NULL unless this library has created the object as a T.
template <class T>
T* embedded(gantry_object* object) {
  void (*const deleter)(void*, std::int32_t) = delete_embedded<T>;
  return object != nullptr && object->deleter == deleter ? reinterpret_cast<T*>(object) : nullptr;
}

}  // namespace

Result<Ref<RuntimeObject>> new_runtime_object(std::shared_ptr<RuntimeState> state) {
  auto* const object = new (std::nothrow) RuntimeObject{{}, std::move(state)};
  if (object == nullptr) return exhausted("no memory for a runtime object");
  object->header = fresh_header(GANTRY_RUNTIME, delete_embedded<RuntimeObject>);
  return Ref<RuntimeObject>::adopt(object);
}

Result<Ref<ModelObject>> new_model_object(std::shared_ptr<ModelState> model,
                                          std::size_t max_instances) {
  auto* const object = new ModelObject(std::move(model), max_instances);
  object->header = fresh_header(GANTRY_MODEL, delete_embedded<ModelObject>);
  return Ref<ModelObject>::adopt(object);
}

RuntimeObject* as_runtime(gantry_object* object) { return embedded<RuntimeObject>(object); }
ModelObject* as_model(gantry_object* object) { return embedded<ModelObject>(object); }

}  // namespace gantry
