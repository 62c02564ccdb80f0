// SPDX-License-Identifier: Apache-2.0
//
// The table of gantry/embed.h. None of its functions throws.
#include "core/embed/arguments.hpp"
#include "core/embed/foreign_tensor.hpp"
#include "core/embed/models.hpp"
#include "core/embed/objects.hpp"
#include "core/embed/run.hpp"
#include "core/embed/runtime_options.hpp"
#include "core/runtime/state.hpp"

#include <gantry/abi_boundary.hpp>
#include <gantry/value.hpp>

#include <cstring>
#include <utility>
#include <vector>

namespace gantry {
namespace {

// Transfers an object to the caller.
template <class T>
Status give(Result<Ref<T>> made, gantry_object** out) {
  if (!made.ok()) return std::move(made).failure();
  *out = reinterpret_cast<gantry_object*>(made->take());
  return {};
}
template <class T>
Status give(Result<Ref<T>> made, gantry_value* out) {
  if (!made.ok()) return std::move(made).failure();
  *out = OwnedValue(std::move(*made)).take();
  return {};
}

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
    GANTRY_CHECK(check_pointer(runtime, "runtime_new", "runtime"));
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
    GANTRY_CHECK(check_pointer(device, "device_find", "device"));
    GANTRY_TRY(*device, runtime->runtime.device(view_of(name)));
    return {};
  });
}

gantry_code load_file(gantry_object* object, gantry_bytes path, const gantry_load_options* options,
                      gantry_object** module, gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    GANTRY_TRY(RuntimeObject * runtime, runtime_argument(object, "load_file"));
    GANTRY_CHECK(check_pointer(module, "load_file", "module"));
    GANTRY_TRY(const gantry_load_options known,
               read_options(options, GANTRY_LOAD_ALLOW_MISSING, "gantry_load_options"));
    GANTRY_TRY(const std::string file, path_argument(path, "load_file"));
    const LoadOptions how{.allow_missing = (known.flags & GANTRY_LOAD_ALLOW_MISSING) != 0};
    GANTRY_TRY(const Module loaded, runtime->runtime.load(file, how));
    gantry_retain(loaded.get());
    *module = loaded.get();
    return {};
  });
}

gantry_code tensors_read(gantry_object* object, gantry_bytes path, gantry_value* tensors,
                         gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    GANTRY_TRY(RuntimeObject * runtime, runtime_argument(object, "tensors_read"));
    GANTRY_CHECK(check_pointer(tensors, "tensors_read", "tensors"));
    GANTRY_TRY(const std::string file, path_argument(path, "tensors_read"));
    GANTRY_TRY(const auto named, runtime->runtime.read_tensors(file));
    std::vector<OwnedValue> names;
    std::vector<gantry_value> items;
    for (const auto& [name, tensor] : named) {
      GANTRY_TRY(OwnedValue text, new_text(GANTRY_STRING, name));
      items.push_back(text.get());
      items.push_back(value_of(tensor.get()));
      names.push_back(std::move(text));
    }
    return give(new_items(GANTRY_MAP, items), tensors);
  });
}

gantry_code tensor_foreign(gantry_object* object, const gantry_tensor* what, std::uint64_t size,
                           std::uint32_t flags, void* self, void (*destroy)(void* self),
                           gantry_value* tensor, gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    GANTRY_TRY(RuntimeObject * runtime, runtime_argument(object, "tensor_foreign"));
    GANTRY_CHECK(check_pointer(what, "tensor_foreign", "what"));
    GANTRY_CHECK(check_pointer(tensor, "tensor_foreign", "tensor"));
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
    GANTRY_CHECK(check_pointer(model, "model_new", "model"));
    return give(new_model(*node, options), model);
  });
}

gantry_code model_functions(gantry_object* object, gantry_value* names, gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    GANTRY_TRY(const ModelObject* model, model_argument(object, "model_functions"));
    GANTRY_CHECK(check_pointer(names, "model_functions", "names"));
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
    GANTRY_CHECK(check_pointer(signature, "model_signature", "signature"));
    GANTRY_TRY(*signature, signature_of(*model, view_of(function)));
    return {};
  });
}

gantry_code run(gantry_object* object, gantry_run* run, gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    GANTRY_TRY(ModelObject * model, model_argument(object, "run"));
    GANTRY_CHECK(check_pointer(run, "run", "run"));
    GANTRY_CHECK(check_struct(run, sizeof *run, "gantry_run"));
    const std::uint32_t size = run->struct_size;
    gantry_run known = known_members(run);
    GANTRY_CHECK(run_model(*model, known));
    known.struct_size = size;
    std::memcpy(run, &known, std::min<std::size_t>(size, sizeof known));
    return {};
  });
}

constexpr gantry_embed table = {
    .struct_size = sizeof(gantry_embed),
    .zero = 0,
    .version = GANTRY_CORE_VERSION,
    .retain = retain,
    .release = release,
    .runtime_new = runtime_new,
    .host = host,
    .device_find = device_find,
    .load_file = load_file,
    .tensors_read = tensors_read,
    .tensor_foreign = tensor_foreign,
    .model_new = model_new,
    .model_functions = model_functions,
    .model_signature = model_signature,
    .run = run,
};

}  // namespace
}  // namespace gantry

const gantry_embed* gantry_embed_query_v1(void) { return &gantry::table; }
