// SPDX-License-Identifier: Apache-2.0
#include "core/engine/native/ffi/c_api.hpp"

#include "core/engine/module/module_graph.hpp"
#include "core/engine/native/cpu_code_boundary.hpp"
#include "core/engine/native/ffi/bytes_text.hpp"
#include "core/engine/native/ffi/dtype_names.hpp"
#include "core/engine/native/ffi/ffi_functions.hpp"
#include "core/engine/native/ffi/library_functions.hpp"
#include "core/engine/native/ffi/library_values.hpp"
#include "core/engine/native/ffi/type_registry.hpp"
#include "core/engine/native/runtime_functions.hpp"
#include "core/engine/tensor/big_int.hpp"
#include "core/engine/tensor/managed_tensor.hpp"
#include "core/engine/tensor/tensor.hpp"

#include <gantry/compact_tensor.hpp>
#include <gantry/error_kind.hpp>
#include <gantry/kind_text.hpp>
#include <gantry/quoted.hpp>
#include <gantry/tensor_text.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>

namespace gantry::ffi {
namespace {

constexpr std::int32_t kOpaque = 74;

// The boundary of a function that returns no code.
//
// otherwise  [in]   what it returns if memory is exhausted
template <class Value, class Body>
Value or_else(Value otherwise, const Body& body) {
  try {
    return body();
  } catch (const std::exception&) {
    return otherwise;
  }
}

// An error of a kind that libraries compare.
Failure raised(std::string_view kind, std::string_view text) {
  return Failure(raised_error(kind, text));
}
Failure raised(std::string_view kind, Error error) {
  if (error.raised || error.code == Code::exhausted) return Failure(std::move(error));
  return raised(kind, error.message.text());
}

Result<std::shared_ptr<TypeRegistry>> registry_here() {
  const HostServices* const services = here().call->owner.services;
  std::shared_ptr<TypeRegistry> types =
      services != nullptr ? services->types : TypeRegistry::only();
  if (types == nullptr) {
    return raised(
        "RuntimeError",
        "a library calls its runtime on a thread that no gantry call has entered, and the "
        "process has not exactly one runtime");
  }
  return types;
}

Result<std::shared_ptr<GlobalFunctions>> globals_here() {
  const HostServices* const services = here().call->owner.services;
  if (services == nullptr || services->registered == nullptr) {
    return raised("RuntimeError",
                  "a library names a global function on a thread that no gantry call has entered");
  }
  return services->registered;
}

// For functions that cannot report an error.
[[noreturn]] void end_process(const Error& error) {
  (void)std::fprintf(stderr, "gantry: a library cannot be used: %s\n", error.message.c_str());
  std::abort();
}

// --- errors

void error_move_from_raised(gantry_object** result) {
  CpuThread& thread = here();
  *result = nullptr;
  if (!thread.failed) return;
  thread.failed = false;
  const Error error = std::move(thread.error);
  *result = error_object(error).take();
}

void error_set_raised(gantry_object* object) {
  if (object == nullptr) return;
  cpu_code_boundary([&]() -> Status {
    const gantry_value value = value_of(object);
    const gantry_error* const what = gantry_value_error(&value);
    if (what == nullptr)
      return invalid("a library raises ", kind_text(object->kind), ", expected an error");
    const std::string_view text(text_in(&what->message));
    Error error = invalid(Message::lines(text.empty() ? "an error without a text" : text))
                      .with_reason("HOST_CODE");
    error.raised = ObjectRef::share(object);
    return error;
  });
}

int error_create_with_cause(const gantry_bytes* kind, const gantry_bytes* message,
                            const gantry_bytes* backtrace, gantry_object* cause,
                            gantry_object* context, gantry_object** out) {
  // The thread's error stays: this function is called while one is handled.
  try {
    gantry_error what{};
    for (const auto& [from, to] : {std::pair(kind, &what.kind), std::pair(message, &what.message),
                                   std::pair(backtrace, &what.backtrace)}) {
      const std::string_view text = text_in(from);
      *to = {text.data(), text.size()};
    }
    what.cause = cause;
    what.context = context;
    auto made = new_error(what);
    if (!made.ok()) return -1;
    *out = &made->take()->header;
    return 0;
  } catch (const std::bad_alloc&) {
    return -1;
  }
}

int error_create(const gantry_bytes* kind, const gantry_bytes* message,
                 const gantry_bytes* backtrace, gantry_object** out) {
  return error_create_with_cause(kind, message, backtrace, nullptr, nullptr, out);
}

const gantry_bytes* backtrace(const char* file, int line, const char* function, int) {
  CpuThread& thread = here();
  thread.backtrace.clear();
  if (file != nullptr && function != nullptr) {
    thread.backtrace = or_else(std::string(), [&] {
      return concat("  File \"", file, "\", line ", line, ", in ", function, "\n");
    });
  }
  thread.backtrace_bytes = {thread.backtrace.data(), thread.backtrace.size()};
  return &thread.backtrace_bytes;
}

// --- objects and values

// safe_call_of_functions
int call_own_function(void* self, const gantry_value* args, std::int32_t count,
                      gantry_value* result) {
  return cpu_code_boundary([&]() -> Status {
    auto& callee = *static_cast<FunctionObject*>(self);
    if (count < 0) return invalid("a call has ", count, " arguments, minimum is 0");
    CpuThread& thread = here();
    ArgumentsOfLibrary list({args, static_cast<std::size_t>(count)});
    GANTRY_CHECK(list.convert(thread.call->owner));
    // The callee may keep an object whose code is the library's.
    const HostServices* const services = thread.call->owner.services;
    if (services != nullptr && services->types != nullptr &&
        !std::ranges::all_of(list.get(), is_plain))
      services->types->add_reference();
    const gantry_env env = env_of_callee(thread, callee.device_type);
    GANTRY_TRY(Value owned, call(callee, &env, list.get()));
    set_strides_in(owned.get());
    *result = owned.take();
    return {};
  });
}

// Before main(): the runtime's functions have it from the first one on.
[[maybe_unused]] const bool has_safe_call = (safe_call_of_functions = call_own_function) != nullptr;

int object_inc_ref(gantry_object* object) {
  return cpu_code_boundary([&]() -> Status {
    if (object == nullptr) return raised("ValueError", "object is NULL");
    gantry_retain(object);
    return {};
  });
}

int object_dec_ref(gantry_object* object) {
  if (object != nullptr) gantry_release(object);
  return 0;
}

struct OpaqueCell {
  gantry_object header;
  void* handle;
  void (*deleter)(void* handle);
};

void delete_opaque_cell(void* self, std::int32_t flags) {
  auto* const object = static_cast<OpaqueCell*>(self);
  if ((flags & GANTRY_DELETE_CONTENT) != 0 && object->deleter != nullptr)
    object->deleter(object->handle);
  if ((flags & GANTRY_DELETE_MEMORY) != 0) delete object;
}

int object_create_opaque(void* handle, std::int32_t kind, void (*deleter)(void*),
                         gantry_object** out) {
  return cpu_code_boundary([&]() -> Status {
    if (kind != kOpaque)
      return raised("RuntimeError", "Only kTVMFFIOpaquePyObject is supported for now");
    GANTRY_TRY(const auto types, registry_here());
    if (deleter != nullptr) types->add_reference();
    *out = &(new OpaqueCell{fresh_header(kOpaque, delete_opaque_cell), handle, deleter})->header;
    return {};
  });
}

Result<Value> text_of_bytes(std::int32_t kind, const gantry_bytes* input) {
  if (input == nullptr || !is_text(*input)) return raised("ValueError", "the text has no address");
  return new_text(kind, text_in(input));
}

Result<Value> owned_any(const gantry_value& view) {
  gantry_bytes bytes{};
  switch (view.kind) {
    case kMovable:
      return moved(view);
    case GANTRY_CSTRING:
    case GANTRY_BYTES_REF:
      if (view.p == nullptr) return raised("ValueError", "the text has no address");
      gantry_value_bytes(&view, &bytes);
      return text_of_bytes(view.kind == GANTRY_CSTRING ? GANTRY_STRING : GANTRY_BYTES, &bytes);
    default:
      return Value::share(view);
  }
}

int any_view_to_owned_any(const gantry_value* view, gantry_value* out) {
  return cpu_code_boundary([&]() -> Status {
    GANTRY_TRY(Value owned, owned_any(*view));
    *out = owned.take();
    return {};
  });
}

int string_from_byte_array(const gantry_bytes* input, gantry_value* out) {
  return cpu_code_boundary([&]() -> Status {
    GANTRY_TRY(Value text, text_of_bytes(GANTRY_STRING, input));
    *out = text.take();
    return {};
  });
}

int bytes_from_byte_array(const gantry_bytes* input, gantry_value* out) {
  return cpu_code_boundary([&]() -> Status {
    GANTRY_TRY(Value bytes, text_of_bytes(GANTRY_BYTES, input));
    *out = bytes.take();
    return {};
  });
}

// --- integers of any size

void delete_big_int(void* self, std::int32_t flags) {
  if ((flags & GANTRY_DELETE_MEMORY) != 0) std::free(self);
}

int big_int_from_byte_array(const gantry_bytes* input, gantry_value* out) {
  return cpu_code_boundary([&]() -> Status {
    if (input == nullptr || input->size % 8 != 0 || !is_text(*input))
      return raised("ValueError", "BigInt content must contain whole 64-bit words");
    const auto word = [&](std::uint64_t i) {
      std::int64_t read = 0;
      std::memcpy(&read, input->data + 8 * i, sizeof read);
      return read;
    };
    std::uint64_t count = input->size / 8;
    // A word that only repeats the sign of the one below says nothing.
    while (count > 1 && word(count - 1) == word(count - 2) >> 63) --count;
    gantry_value made{};
    made.kind = GANTRY_INT;
    if (count == 1) made.i = word(0);
    if (count > 1) {
      auto* const object =
          static_cast<BigIntObject*>(std::malloc(sizeof(BigIntObject) + 8 * count));
      if (object == nullptr) return exhausted("integer: no memory for ", count, " words");
      *object = {fresh_header(kBigInt, delete_big_int), count};
      std::memcpy(object + 1, input->data, 8 * count);
      made = value_of(&object->header);
    }
    *out = made;
    return {};
  });
}

gantry_bytes big_int_get_content(const gantry_value* value) {
  if (value->kind == kBigInt) {
    const auto words = words_of(*value);
    return {reinterpret_cast<const char*>(words.data()), words.size_bytes()};
  }
  if (value->kind == GANTRY_INT) return {reinterpret_cast<const char*>(&value->i), 8};
  return {};
}

// --- element types

int data_type_from_string(const gantry_bytes* text, gantry_dtype* out) {
  return cpu_code_boundary([&]() -> Status {
    auto dtype = dtype_of_name(text_in(text));
    if (!dtype.ok()) return raised("ValueError", std::move(dtype).error());
    *out = *dtype;
    return {};
  });
}

int data_type_to_string(const gantry_dtype* dtype, gantry_value* out) {
  return cpu_code_boundary([&]() -> Status {
    auto name = name_of_dtype(*dtype);
    if (!name.ok()) return raised("ValueError", std::move(name).error());
    GANTRY_TRY(Value text, new_text(GANTRY_STRING, *name));
    *out = text.take();
    return {};
  });
}

// --- functions

int header_function_call(gantry_object* function, const gantry_value* args, std::int32_t count,
                         gantry_value* result) {
  const bool is_function = function != nullptr && function->kind == GANTRY_FUNCTION;
  if (is_function && !is_own_function(*function)) {
    return reinterpret_cast<FunctionCell*>(function)->safe_call(function, args, count, result);
  }
  if (is_function) return call_own_function(function, args, count, result);
  return cpu_code_boundary([&]() -> Status {
    return raised("TypeError", "TVMFFIFunctionCall receives a handle that is not a function");
  });
}

int function_create(void* self, SafeCall call, void (*deleter)(void*), gantry_object** out) {
  return cpu_code_boundary([&]() -> Status {
    if (call == nullptr) return raised("ValueError", "a function without safe_call is created");
    GANTRY_TRY(const auto types, registry_here());
    types->add_reference();
    GANTRY_TRY(Ref<FunctionObject> made,
               new_library_function(self, call, deleter, here().call->owner));
    *out = &made.take()->header;
    return {};
  });
}

int function_get_global(const gantry_bytes* name, gantry_object** out) {
  return cpu_code_boundary([&]() -> Status {
    *out = nullptr;
    GANTRY_TRY(const auto globals, globals_here());
    Ref<FunctionObject> found = globals->find(text_in(name));
    if (!found) {
      GANTRY_TRY(found, globals->find_offered(text_in(name)));
    }
    if (!found) {
      GANTRY_TRY(found, bound_library_function(text_in(name), globals));
    }
    if (found) *out = &found.take()->header;
    return {};
  });
}

Status set_global(std::string_view name, gantry_object* function, bool replaces) {
  GANTRY_TRY(const auto globals, globals_here());
  GANTRY_TRY(const auto types, registry_here());
  if (name.empty() || function == nullptr || function->kind != GANTRY_FUNCTION)
    return raised("TypeError", "a global function is registered without a name or a function");
  gantry_retain(function);
  GANTRY_TRY(Value converted, from_library(Value::adopt(value_of(function)), here().call->owner));
  types->add_reference();
  const gantry_value owned = converted.take();
  auto made = Ref<FunctionObject>::adopt(reinterpret_cast<FunctionObject*>(owned.object));
  if (replaces) {
    globals->set(std::string(name), std::move(made));
  } else if (!globals->add(std::string(name), std::move(made)).ok()) {
    return raised("RuntimeError", concat("Global Function `", name, "` is already registered"));
  }
  return {};
}

int function_set_global(const gantry_bytes* name, gantry_object* function, int replaces) {
  return cpu_code_boundary([&] { return set_global(text_in(name), function, replaces != 0); });
}

int function_set_global_from_method_info(const MethodInfo* info, int replaces) {
  return cpu_code_boundary([&]() -> Status {
    if (info->method.kind != GANTRY_FUNCTION)
      return raised("TypeError", "a global function is registered without a function");
    return set_global(text_in(&info->name), info->method.object, replaces != 0);
  });
}

// --- types

std::int32_t type_get_or_alloc_index(const gantry_bytes* key, std::int32_t index,
                                     std::int32_t depth, std::int32_t child_slots,
                                     std::int32_t may_overflow, std::int32_t parent) {
  const auto made = or_else(Result<std::int32_t>(exhausted("out of memory")), [&] {
    return [&]() -> Result<std::int32_t> {
      GANTRY_TRY(const auto types, registry_here());
      // Only asks.
      if (parent == -2) return types->find(text_in(key));
      return types->type({text_in(key), index, depth, child_slots, may_overflow != 0, parent});
    }();
  });
  if (!made.ok()) end_process(made.error());
  return *made;
}

int type_key_to_index(const gantry_bytes* key, std::int32_t* out) {
  return cpu_code_boundary([&]() -> Status {
    GANTRY_TRY(const auto types, registry_here());
    const std::int32_t found = types->find(text_in(key));
    // tvm-ffi's own text.
    if (found < 0) {
      return raised(
          "InternalError",
          concat("Check failed: (it != type_key2index_.end()) is false: Cannot find type `",
                 text_in(key), "`"));
    }
    *out = found;
    return {};
  });
}

const TypeInfo* get_type_info(std::int32_t index) {
  // Without a copy of the pointer, because every cast calls this.
  const HostServices* const services = here().call->owner.services;
  if (services != nullptr && services->types != nullptr) return services->types->info(index);
  const auto types = registry_here();
  if (!types.ok()) end_process(types.error());
  return (*types)->info(index);
}

template <class Record>
int register_in_type(std::int32_t index, const Record* record,
                     Status (TypeRegistry::*add)(std::int32_t, const Record&)) {
  return cpu_code_boundary([&]() -> Status {
    GANTRY_TRY(const auto types, registry_here());
    Status done = (types.get()->*add)(index, *record);
    return done.ok() ? done : Status(raised("RuntimeError", std::move(done).error()));
  });
}

int type_register_field(std::int32_t index, const FieldInfo* info) {
  return register_in_type(index, info, &TypeRegistry::add_field);
}
int type_register_method(std::int32_t index, const MethodInfo* info) {
  return register_in_type(index, info, &TypeRegistry::add_method);
}
int type_register_metadata(std::int32_t index, const TypeMetadata* metadata) {
  return register_in_type(index, metadata, &TypeRegistry::set_metadata);
}

int type_register_attr(std::int32_t index, const gantry_bytes* name, const gantry_value* value) {
  return cpu_code_boundary([&]() -> Status {
    GANTRY_TRY(const auto types, registry_here());
    Status done = types->set_attribute(index, text_in(name), *value);
    return done.ok() ? done : Status(raised("RuntimeError", std::move(done).error()));
  });
}

const AttributeColumn* get_type_attr_column(const gantry_bytes* name) {
  return or_else(static_cast<const AttributeColumn*>(nullptr), [&] {
    const auto types = registry_here();
    return types.ok() ? (*types)->column(text_in(name)) : nullptr;
  });
}

// --- tensors

Status from_dlpack(const dlpack::Managed& managed, std::int32_t alignment, std::int32_t compact,
                   gantry_object** out) {
  if (managed.plain == nullptr && managed.versioned == nullptr)
    return raised("ValueError", "the DLPack tensor is NULL");
  GANTRY_CHECK(dlpack::check_form(managed));
  const gantry_tensor& what = managed.tensor();
  // Of the CPU, CUDA and ROCm with their host memory, data are an address; elsewhere a handle.
  const std::int32_t device = what.device.type;
  const bool is_address = device <= 3 || device == 10 || device == 11 || device == 13;
  const std::uint64_t address =
      (is_address ? reinterpret_cast<std::uintptr_t>(what.data) : 0) + what.byte_offset;
  if (alignment > 0 && address % static_cast<std::uint64_t>(alignment) != 0)
    return raised("RuntimeError", concat("the data are not aligned to ", alignment, " bytes"));
  if (compact != 0 && !is_compact(what))
    return raised("RuntimeError", concat("tensor ", tensor_text(what), " is not contiguous"));
  GANTRY_TRY(Ref<TensorObject> tensor, dlpack::own_managed(managed, what, {}));
  set_strides(*tensor);
  *out = &tensor.take()->header;
  return {};
}

int tensor_from_dlpack(DLManagedTensor* from, std::int32_t alignment, std::int32_t compact,
                       gantry_object** out) {
  return cpu_code_boundary([&] { return from_dlpack({nullptr, from}, alignment, compact, out); });
}
int tensor_from_dlpack_versioned(DLManagedTensorVersioned* from, std::int32_t alignment,
                                 std::int32_t compact, gantry_object** out) {
  return cpu_code_boundary([&] { return from_dlpack({from, nullptr}, alignment, compact, out); });
}

Status check_tensor(const gantry_object* object) {
  if (object != nullptr && object->kind == GANTRY_TENSOR) return {};
  return raised("TypeError", "the object is not a tensor");
}

int tensor_to_dlpack(gantry_object* from, DLManagedTensor** out) {
  return cpu_code_boundary([&]() -> Status {
    GANTRY_CHECK(check_tensor(from));
    *out = dlpack::new_managed(*from);
    return {};
  });
}
int tensor_to_dlpack_versioned(gantry_object* from, DLManagedTensorVersioned** out) {
  return cpu_code_boundary([&]() -> Status {
    GANTRY_CHECK(check_tensor(from));
    *out = dlpack::new_managed_versioned(*from, 0);
    return {};
  });
}

int tensor_create_unsafe_view(gantry_object* source, const gantry_tensor* prototype,
                              gantry_object** out) {
  return cpu_code_boundary([&]() -> Status {
    GANTRY_CHECK(check_tensor(source));
    GANTRY_TRY(Ref<TensorObject> view, tensor_view(*prototype, source));
    set_strides(*view);
    *out = &view.take()->header;
    return {};
  });
}

// --- the environment

int env_set_stream(std::int32_t type, std::int32_t index, void* stream, void** old) {
  return cpu_code_boundary([&]() -> Status {
    const gantry_device_id device = device_here(type, index);
    if (device.type < 0 || device.type >= kDeviceTypeCount || device.index < 0)
      return raised("ValueError", concat("device ", type, ":", index, " does not exist"));
    CpuThread& thread = here();
    // Not the stream of the call, which must not outlive it when the caller restores the old one.
    if (old != nullptr) {
      *old = nullptr;
      for (const auto& [known, selected] : thread.streams) {
        if (known.type == device.type && known.index == device.index) *old = selected;
      }
    }
    select_stream(thread, device, stream);
    return {};
  });
}

int env_set_tensor_allocator(void* allocator, int for_all, void** old) {
  return cpu_code_boundary([&]() -> Status {
    CpuThread& thread = here();
    GANTRY_TRY(const auto types, registry_here());
    types->add_reference();
    if (old != nullptr) *old = thread.tensor_allocator;
    thread.tensor_allocator = allocator;
    if (for_all != 0) types->tensor_allocator = allocator;
    return {};
  });
}

void* env_get_tensor_allocator() {
  if (void* const own = here().tensor_allocator) return own;
  return or_else(static_cast<void*>(nullptr), [] {
    const auto types = registry_here();
    return types.ok() ? (*types)->tensor_allocator.load() : nullptr;
  });
}

// DLPackManagedTensorAllocator
using TensorAllocator = int (*)(gantry_tensor* prototype, DLManagedTensorVersioned** out,
                                void* context,
                                void (*set_error)(void* context, const char* kind,
                                                  const char* message));

int env_tensor_alloc(gantry_tensor* prototype, gantry_object** out) {
  return cpu_code_boundary([&]() -> Status {
    if (void* const allocator = env_get_tensor_allocator()) {
      DLManagedTensorVersioned* made = nullptr;
      Error error = invalid("the allocator of tensors fails");
      const int code = reinterpret_cast<TensorAllocator>(allocator)(
          prototype, &made, &error, [](void* context, const char* kind, const char* message) {
            try {
              *static_cast<Error*>(context) = raised_error(kind != nullptr ? kind : "RuntimeError",
                                                           message != nullptr ? message : "");
            } catch (const std::exception&) {
              // The text of the initial error stays.
            }
          });
      if (code != 0 || made == nullptr) return error;
      Status taken = from_dlpack({made, nullptr}, 0, 0, out);
      if (!taken.ok() && made->deleter != nullptr) made->deleter(made);
      return taken;
    }
    const HostServices* const services = here().call->owner.services;
    if (services == nullptr || services->devices == nullptr) {
      return raised("RuntimeError",
                    "a tensor is allocated on a thread that no gantry call has entered");
    }
    gantry_tensor like = *prototype;
    like.device = device_here(like.device.type, like.device.index);
    GANTRY_TRY(Ref<TensorObject> made, tensor_new(*services->devices, like));
    set_strides(*made);
    *out = &made.take()->header;
    return {};
  });
}

int env_check_signals() { return 0; }

int env_register_c_api(const char* name, void*) {
  return cpu_code_boundary([&]() -> Status {
    const std::string_view known[] = {"PyErr_CheckSignals", "PyGILState_Ensure",
                                      "PyGILState_Release"};
    if (name != nullptr && std::ranges::find(known, std::string_view(name)) != std::end(known))
      return {};
    return raised("ValueError", concat("Unknown env API ", name != nullptr ? name : "NULL"));
  });
}

int env_mod_register_context_symbol(const char* name, void* value) {
  return cpu_code_boundary([&]() -> Status {
    GANTRY_TRY(const auto types, registry_here());
    if (name == nullptr) return raised("ValueError", "a context symbol has no name");
    types->add_reference();
    types->set_context_symbol(name, value);
    return {};
  });
}

int handle_deinit_once(void** slot, int (*end)(void* handle)) {
  void* const old = std::atomic_ref(*slot).exchange(nullptr, std::memory_order_acq_rel);
  return old != nullptr ? end(old) : 0;
}

void get_version(std::uint32_t* out) { std::copy_n(api_version, 3, out); }

// --- the allocator of objects, of the process

struct AllocationHeader {
  void (*delete_space)(void* object);
};
struct Allocator {
  void* (*allocate)(std::size_t size, std::size_t alignment, std::int32_t kind, void* context);
  void* context;
};

void* default_allocate(std::size_t size, std::size_t alignment, std::int32_t, void*) {
  // The header directly precedes the object, and the start of the allocation that.
  struct Prefix {
    void* start;
    AllocationHeader header;
  };
  alignment = std::max(alignment, alignof(std::max_align_t));
  const std::size_t extra = alignment + sizeof(Prefix);
  const bool is_valid = (alignment & (alignment - 1)) == 0 && size <= PTRDIFF_MAX - extra;
  char* const start = is_valid ? static_cast<char*>(std::malloc(size + extra)) : nullptr;
  if (start == nullptr) {
    or_else(-1,
            [&] { return fail_here(exhausted("no memory for an object of ", size, " bytes")); });
    return nullptr;
  }
  const auto first = reinterpret_cast<std::uintptr_t>(start) + sizeof(Prefix);
  char* const object = start + sizeof(Prefix) + (alignment - first % alignment) % alignment;
  reinterpret_cast<Prefix*>(object)[-1] = {
      start, {[](void* freed) { std::free(static_cast<Prefix*>(freed)[-1].start); }}};
  return object;
}

Allocator& default_allocator() {
  static Allocator allocator{default_allocate, nullptr};
  return allocator;
}
std::atomic<Allocator*>& allocator_in_use() {
  static std::atomic<Allocator*> allocator{&default_allocator()};
  return allocator;
}

Allocator* get_custom_allocator() { return allocator_in_use().load(); }
int set_custom_allocator(Allocator* allocator) {
  return cpu_code_boundary([&]() -> Status {
    if (allocator != nullptr && allocator != &default_allocator()) {
      GANTRY_TRY(const auto types, registry_here());
      types->add_reference();
    }
    allocator_in_use() = allocator != nullptr ? allocator : &default_allocator();
    return {};
  });
}

template <class Function>
RuntimeFunction row(std::string_view name, Function* function) {
  RuntimeFunction made{name, address(function), Dialect::unknown};
  // Constructors of static variables call any of them.
  made.is_called_at_load = true;
  made.is_of_headers = true;
  return made;
}

}  // namespace

ObjectRef error_object(const Error& error) {
  const gantry_object* const raised = error.raised.get();
  if (raised != nullptr && raised->kind == GANTRY_ERROR) return error.raised;
  std::string_view kind = error.code == Code::exhausted ? "MemoryError" : "InternalError";
  for (const ReasonKind& each : reason_kinds) {
    if (each.reason == error.reason) kind = each.kind;
  }
  try {
    if (const Error made = raised_error(kind, error.message.text()); made.raised)
      return made.raised;
  } catch (const std::bad_alloc&) {
  }
  return {};
}

}  // namespace gantry::ffi

namespace gantry {

std::span<const RuntimeFunction> header_functions() {
  using namespace ffi;
  static const RuntimeFunction functions[] = {
      row("TVMFFIFunctionCall", header_function_call),
      row("TVMFFIGetVersion", get_version),
      row("TVMFFIObjectIncRef", object_inc_ref),
      row("TVMFFIObjectDecRef", object_dec_ref),
      row("TVMFFIObjectCreateOpaque", object_create_opaque),
      row("TVMFFIGetCustomAllocator", get_custom_allocator),
      row("TVMFFISetCustomAllocator", set_custom_allocator),
      row("TVMFFITypeKeyToIndex", type_key_to_index),
      row("TVMFFIFunctionCreate", function_create),
      row("TVMFFIFunctionGetGlobal", function_get_global),
      row("TVMFFIAnyViewToOwnedAny", any_view_to_owned_any),
      row("TVMFFIErrorMoveFromRaised", error_move_from_raised),
      row("TVMFFIErrorSetRaised", error_set_raised),
      row("TVMFFIErrorCreate", error_create),
      row("TVMFFIErrorCreateWithCauseAndExtraContext", error_create_with_cause),
      row("TVMFFITensorFromDLPack", tensor_from_dlpack),
      row("TVMFFITensorToDLPack", tensor_to_dlpack),
      row("TVMFFITensorFromDLPackVersioned", tensor_from_dlpack_versioned),
      row("TVMFFITensorToDLPackVersioned", tensor_to_dlpack_versioned),
      row("TVMFFITensorCreateUnsafeView", tensor_create_unsafe_view),
      row("TVMFFIStringFromByteArray", string_from_byte_array),
      row("TVMFFIBytesFromByteArray", bytes_from_byte_array),
      row("TVMFFIBigIntFromByteArray", big_int_from_byte_array),
      row("TVMFFIBigIntGetContentByteArray", big_int_get_content),
      row("TVMFFIDataTypeFromString", data_type_from_string),
      row("TVMFFIDataTypeToString", data_type_to_string),
      row("TVMFFIFunctionSetGlobal", function_set_global),
      row("TVMFFIFunctionSetGlobalFromMethodInfo", function_set_global_from_method_info),
      row("TVMFFITypeRegisterField", type_register_field),
      row("TVMFFITypeRegisterMethod", type_register_method),
      row("TVMFFITypeRegisterMetadata", type_register_metadata),
      row("TVMFFITypeRegisterAttr", type_register_attr),
      row("TVMFFIGetTypeAttrColumn", get_type_attr_column),
      row("TVMFFIBacktrace", backtrace),
      row("TVMFFITypeGetOrAllocIndex", type_get_or_alloc_index),
      row("TVMFFIGetTypeInfo", get_type_info),
      row("TVMFFIHandleDeinitOnce", handle_deinit_once),
      row("TVMFFIEnvSetStream", env_set_stream),
      row("TVMFFIEnvSetDLPackManagedTensorAllocator", env_set_tensor_allocator),
      row("TVMFFIEnvGetDLPackManagedTensorAllocator", env_get_tensor_allocator),
      row("TVMFFIEnvTensorAlloc", env_tensor_alloc),
      row("TVMFFIEnvCheckSignals", env_check_signals),
      row("TVMFFIEnvRegisterCAPI", env_register_c_api),
      row("TVMFFIEnvModRegisterContextSymbol", env_mod_register_context_symbol),
  };
  return functions;
}

}  // namespace gantry
