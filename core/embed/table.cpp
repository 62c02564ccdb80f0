// SPDX-License-Identifier: Apache-2.0
//
// The table of gantry/embed.h. None of its functions throws.
#include "core/embed/arguments.hpp"
#include "core/embed/foreign_tensor.hpp"
#include "core/embed/functions.hpp"
#include "core/embed/give.hpp"
#include "core/embed/load_functions.hpp"
#include "core/embed/models.hpp"
#include "core/embed/objects.hpp"
#include "core/embed/pool.hpp"
#include "core/embed/reports.hpp"
#include "core/embed/run.hpp"
#include "core/embed/runtime_options.hpp"
#include "core/embed/stream_functions.hpp"
#include "core/embed/task.hpp"
#include "core/runtime/state.hpp"

#include <gantry/abi_boundary.hpp>
#include <gantry/value.hpp>

#include <cstring>
#include <utility>
#include <vector>

namespace gantry {
namespace {

void retain(gantry_object* object) {
  if (object != nullptr) gantry_retain(object);
}

void release(gantry_object* object) {
  if (object != nullptr) gantry_release(object);
}

gantry_code runtime_new(const gantry_runtime_options* options, gantry_object** runtime,
                        gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    GANTRY_TRY(RuntimeOptions known, runtime_options(options));
    GANTRY_TRY(Runtime made, Runtime::create(std::move(known)));
    return give(new_runtime_object(std::move(made)), runtime);
  });
}

const gantry_host* host(gantry_object* object) {
  const RuntimeObject* const runtime = as_runtime(object);
  return runtime != nullptr ? &RuntimeAccess::state(runtime->runtime).program.table : nullptr;
}

gantry_code device_find(gantry_object* object, gantry_bytes name, gantry_device_id* device,
                        gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    GANTRY_TRY(RuntimeObject * runtime, runtime_argument(object, "device_find"));
    GANTRY_TRY(*device, runtime->runtime.device(view_of(name)));
    return {};
  });
}

gantry_code tensor_foreign(gantry_object* object, const gantry_tensor* what, std::uint64_t size,
                           std::uint32_t flags, void* self, void (*destroy)(void* self),
                           gantry_value* tensor, gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    GANTRY_TRY(RuntimeObject * runtime, runtime_argument(object, "tensor_foreign"));
    GANTRY_CHECK(check_flags(flags, 0, "tensor_foreign"));
    return give(
        foreign_tensor(RuntimeAccess::state(runtime->runtime), *what, {size, self, destroy}),
        tensor);
  });
}

gantry_code model_new(gantry_object* module, const gantry_model_options* options,
                      gantry_object** model, gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    GANTRY_TRY(ModuleNode * node, module_argument(module, "model_new"));
    return give(new_model(*node, options), model);
  });
}

gantry_code model_functions(gantry_object* object, gantry_value* names, gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    GANTRY_TRY(const ModelObject* model, model_argument(object, "model_functions"));
    std::vector<OwnedValue> texts;
    std::vector<gantry_value> items;
    for (const std::string& name : model->model->functions) {
      GANTRY_TRY(OwnedValue text, new_text(GANTRY_STRING, name));
      items.push_back(text.get());
      texts.push_back(std::move(text));
    }
    return give(new_items(GANTRY_ARRAY, items), names);
  });
}

gantry_code model_signature(gantry_object* object, gantry_bytes function,
                            const gantry_signature** signature, gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    GANTRY_TRY(ModelObject * model, model_argument(object, "model_signature"));
    GANTRY_TRY(*signature, signature_of(*model, view_of(function)));
    return {};
  });
}

gantry_code model_module(gantry_object* object, gantry_object** module, gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    GANTRY_TRY(const ModelObject* model, model_argument(object, "model_module"));
    return give(module_of(*model), module);
  });
}

gantry_code run(gantry_object* object, gantry_run* run, gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    GANTRY_TRY(ModelObject * model, model_argument(object, "run"));
    GANTRY_CHECK(check_struct(run, sizeof *run, "gantry_run"));
    const std::uint32_t size = run->struct_size;
    gantry_run known = known_members(run);
    GANTRY_CHECK(run_model(*model, known));
    known.struct_size = size;
    std::memcpy(run, &known, std::min<std::size_t>(size, sizeof known));
    return {};
  });
}

gantry_code task_new(const gantry_task_options* options, gantry_object** task,
                     gantry_status* status) {
  return abi_boundary(status, [&]() -> Status { return give(new_task(options), task); });
}

void task_cancel(gantry_object* object) {
  if (TaskObject* const task = as_task(object)) task->task.cancel();
}

const void* task_handle(gantry_object* object) {
  const TaskObject* const task = as_task(object);
  return task != nullptr ? static_cast<const Task*>(&task->task) : nullptr;
}

gantry_code function_add(gantry_object* object, gantry_bytes name, gantry_function function,
                         gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    auto runtime = runtime_argument(object, "function_add");
    // The function is taken over in every case.
    RuntimeState* const state = runtime.ok() ? &RuntimeAccess::state((*runtime)->runtime) : nullptr;
    Status named = check_text(name, "function_add", "name");
    Status added = add_function(named.ok() ? state : nullptr,
                                named.ok() ? view_of(name) : std::string_view(), function);
    if (!named.ok()) return named;
    return runtime.ok() ? std::move(added) : Status(std::move(runtime).failure());
  });
}

gantry_code function_find(gantry_object* object, gantry_bytes name, gantry_object** function,
                          gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    GANTRY_TRY(RuntimeObject * runtime, runtime_argument(object, "function_find"));
    GANTRY_TRY(const Function found, runtime->runtime.function(view_of(name)));
    gantry_retain(found.get());
    *function = found.get();
    return {};
  });
}

gantry_code report(gantry_object* object, gantry_bytes what, gantry_value* tree,
                   gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    if (object != nullptr && object->kind == GANTRY_MODULE) {
      GANTRY_TRY(ModuleNode * node, module_argument(object, "report"));
      GANTRY_TRY(OwnedValue made, gantry::report(*node, view_of(what)));
      *tree = made.take();
      return {};
    }
    GANTRY_TRY(RuntimeObject * runtime, runtime_argument(object, "report"));
    GANTRY_TRY(OwnedValue made,
               gantry::report(RuntimeAccess::state(runtime->runtime), view_of(what)));
    *tree = made.take();
    return {};
  });
}

gantry_code pool_new(const gantry_pool_options* options, gantry_object** pool,
                     gantry_status* status) {
  return abi_boundary(status, [&]() -> Status { return give(new_pool(options), pool); });
}

gantry_code items_get(gantry_object* object, const gantry_value** items, std::uint64_t* count,
                      gantry_status* status) {
  return functions_without_host().items_get(nullptr, object, items, count, status);
}

gantry_code tensor_view(const gantry_tensor* what, gantry_object* owner, std::uint32_t flags,
                        gantry_value* tensor, gantry_status* status) {
  return functions_without_host().tensor_view(nullptr, what, owner, flags, tensor, status);
}

gantry_code find(gantry_object* module, std::uint32_t where, gantry_bytes name,
                 gantry_object** function, gantry_status* status) {
  return functions_without_host().find(nullptr, module, where, name, function, status);
}

gantry_code call(gantry_object* function, const gantry_env* env, const gantry_value* args,
                 std::int32_t count, gantry_value* result, gantry_status* status) {
  return functions_without_host().call(nullptr, function, env, args, count, result, status);
}

constexpr gantry_embed table = {
    .struct_size = sizeof(gantry_embed),
    .zero = 0,
    .version = GANTRY_CORE_VERSION,
    .retain = retain,
    .release = release,
    .runtime_new = checked<runtime_new, "runtime_new", "options?", "runtime">,
    .host = host,
    .device_find = checked<device_find, "device_find", "object?", "name", "device">,
    .load_file =
        checked<load_functions::load_file, "load_file", "object?", "path", "options?", "module">,
    .tensors_read =
        checked<load_functions::tensors_read, "tensors_read", "object?", "path", "tensors">,
    .tensor_foreign = checked<tensor_foreign, "tensor_foreign", "object?", "what", "size", "flags",
                              "self?", "destroy?", "tensor">,
    .model_new = checked<model_new, "model_new", "object?", "options?", "model">,
    .model_functions = checked<model_functions, "model_functions", "object?", "names">,
    .model_signature =
        checked<model_signature, "model_signature", "object?", "function", "signature">,
    .run = checked<run, "run", "object?", "run">,
    .load_memory = checked<load_functions::load_memory, "load_memory", "object?", "data[]", "size",
                           "name", "options?", "module">,
    .load_reader = checked<load_functions::load_reader, "load_reader", "object?", "reader", "name",
                           "options?", "module">,
    .dlpack_import = checked<stream_functions::dlpack_import, "dlpack_import", "object?",
                             "versioned?", "plain?", "tensor">,
    .dlpack_export = checked<stream_functions::dlpack_export, "dlpack_export", "object?", "object?",
                             "version", "stream?", "managed">,
    .stream_new =
        checked<stream_functions::stream_new, "stream_new", "object?", "device", "stream">,
    .stream_handle = stream_functions::stream_handle,
    .synchronize = stream_functions::synchronize,
    .task_new = checked<task_new, "task_new", "options?", "task">,
    .task_cancel = task_cancel,
    .task_handle = task_handle,
    .function_add = function_add,
    .function_find = checked<function_find, "function_find", "object?", "name", "function">,
    .report = checked<report, "report", "object?", "what", "tree">,
    .pool_new = checked<pool_new, "pool_new", "options?", "pool">,
    .plugin_add = checked<load_functions::plugin_add, "plugin_add", "object?", "query">,
    .module_bind_missing = load_functions::module_bind_missing,
    .load_graph = checked<load_functions::load_graph, "load_graph", "object?", "library", "graph",
                          "params", "options?", "module">,
    .load_linked = checked<load_functions::load_linked, "load_linked", "object?", "symbols",
                           "prefix", "options?", "module">,
    .items_get = items_get,
    .tensor_view = tensor_view,
    .find = find,
    .call = call,
    .dlpack_import_after =
        checked<stream_functions::dlpack_import_after, "dlpack_import_after", "object?",
                "versioned?", "plain?", "produced?", "stream?", "tensor">,
    .inspect = checked<load_functions::inspect, "inspect", "object?", "path", "tree">,
    .model_module = checked<model_module, "model_module", "object?", "module">,
};

}  // namespace
}  // namespace gantry

const gantry_embed* gantry_embed_query_v1(void) { return &gantry::table; }
