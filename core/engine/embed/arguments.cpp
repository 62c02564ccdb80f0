// SPDX-License-Identifier: Apache-2.0
#include "core/engine/embed/arguments.hpp"

#include "core/base/forks.hpp"
#include "core/base/process_end.hpp"
#include "core/base/reason.hpp"
#include "core/engine/runtime/state.hpp"
#include "core/engine/tensor/tensor.hpp"

#include <gantry/kind_text.hpp>
#include <gantry/quoted.hpp>
#include <gantry/value.hpp>

namespace gantry {
namespace {

// A larger struct is no struct of a later version.
constexpr std::size_t max_struct_size = 4096;

Failure wrong_object(const gantry_object* object, std::string_view function,
                     std::string_view expected) {
  return invalid(function, ": the object is ",
                 object != nullptr ? kind_text(object->kind) : std::string("NULL"), ", expected ",
                 expected)
      .with_reason("ARGUMENT_KIND");
}

}  // namespace

Result<RuntimeObject*> runtime_argument(gantry_object* object, std::string_view function) {
  RuntimeObject* const runtime = as_runtime(object);
  if (runtime == nullptr) return wrong_object(object, function, "a runtime");
  GANTRY_CHECK(runtime->state->check_process());
  return runtime;
}

Result<ModelObject*> model_argument(gantry_object* object, std::string_view function) {
  ModelObject* const model = as_model(object);
  if (model == nullptr) return wrong_object(object, function, "a model");
  GANTRY_CHECK(model->runtime().check_process());
  return model;
}

Result<ModuleNode*> module_argument(gantry_object* object, std::string_view function) {
  if (object == nullptr || object->kind != GANTRY_MODULE)
    return wrong_object(object, function, "a module");
  auto* const module = reinterpret_cast<ModuleNode*>(object);
  GANTRY_CHECK(state_of(*module->artifact)->check_process());
  return module;
}

Result<TensorObject*> tensor_argument(gantry_object* object, std::string_view function) {
  if (object == nullptr || object->kind != GANTRY_TENSOR)
    return wrong_object(object, function, "a tensor");
  return reinterpret_cast<TensorObject*>(object);
}

Result<PoolObject*> pool_argument(gantry_object* object, std::string_view function) {
  PoolObject* const pool = as_pool(object);
  if (pool == nullptr) return wrong_object(object, function, "a pool");
  if (pool->forks == fork_count()) return pool;
  return unavailable(function, ": the pool was created before this process was forked",
                     forked_remedy)
      .with_reason("PROCESS_FORKED");
}

Result<TaskObject*> task_argument(gantry_object* object, std::string_view function) {
  TaskObject* const task = as_task(object);
  if (task == nullptr) return wrong_object(object, function, "a task");
  return task;
}

Result<StreamObject*> stream_argument(gantry_object* object, const RuntimeState& runtime,
                                      std::string_view function) {
  StreamObject* const stream = as_stream(object);
  if (stream == nullptr) return wrong_object(object, function, "a stream");
  if (stream->state.get() != &runtime)
    return invalid(function, ": the stream is of another runtime").with_reason("STREAM");
  return stream;
}

Status check_flags(std::uint32_t flags, std::uint32_t known, std::string_view subject) {
  if ((flags & ~known) == 0) return {};
  return unsupported(subject, ": flags are ", Hex{flags}, ", this version has ", Hex{known})
      .with_reason("FLAGS");
}

Result<std::string> path_argument(gantry_bytes path, std::string_view function) {
  GANTRY_CHECK(check_text(path, function, "a path"));
  const std::string_view text = view_of(path);
  if (text.find('\0') == std::string_view::npos) return std::string(text);
  return invalid(function, ": the path ", quoted(text), " contains a NUL").with_reason("ARGUMENT");
}

Status check_struct(const void* given, std::size_t known, std::string_view name) {
  std::uint32_t size = 0;
  std::memcpy(&size, given, sizeof size);
  // every struct begins with its size and flags
  constexpr std::size_t min = 2 * sizeof size;
  if (size < min || size > max_struct_size) {
    return invalid(name, ": struct_size is ", size, ", range is ", min, " to ", max_struct_size)
        .with_reason(reason::struct_size.tag);
  }
  const auto* const bytes = static_cast<const unsigned char*>(given);
  for (std::size_t i = known; i < size; ++i) {
    if (bytes[i] == 0) continue;
    return unsupported(name, ": struct_size is ", size, ", this version has ", known,
                       " bytes, and byte ", i, " is not 0")
        .with_reason(reason::struct_size.tag);
  }
  return {};
}

}  // namespace gantry
